"""Model families: one file each, with its section of the config, its sizes, what it can do, and how it is built."""
