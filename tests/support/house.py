"""The core modules, named once for the tests that need the list."""

# in an order in which every module imports only earlier ones
CORE = "config tokenizer sampling dice tree cache model grow verify ending decode head files checkpoint".split()
