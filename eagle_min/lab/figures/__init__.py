"""Tables, pictures and the generated parts of pages: functions of stored rows and nothing else."""
