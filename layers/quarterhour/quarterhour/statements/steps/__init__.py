"""The steps of a statement run in their order: collect, number, write, publish. A step may run again at any time."""
