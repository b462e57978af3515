"""The background process of a workspace, which runs commands of the command line.

`client` offers a command to the process, `messages` is what they say to each other, `process` runs
the command, and `control` starts, lists and stops processes. The process runs the same code as a
command that does its work itself, so the output is the same.
"""
