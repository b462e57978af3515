"""The picker: `winnow` without arguments searches as you type.

`state` is what the picker knows, and `view` the lines that show it; both work without a terminal.
`searches` and `preview` get answers and files, and `screen` connects all of them to the terminal.
"""
