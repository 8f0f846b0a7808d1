"""The laboratory: what the models and the drafters do, measured by commands that anybody can run again."""
