import { expect, test } from 'vitest'

import { forPeople } from './wording'

const BUILD = '“Build or update the index” in the menu of Winnow’s status item'

test.each([
  [
    "It takes a second and at most 500 MB in .winnow: pass enable_indexing to code_search, or call `index` with action 'build'.",
    `It takes a second and at most 500 MB in .winnow: choose ${BUILD}.`,
  ],
  ['there is no index: `index build` makes one', `there is no index: ${BUILD} makes one`],
  [
    '0 matches; 3 in excluded files: pass include_ignored and include_hidden',
    '0 matches; 3 in excluded files: type >ignored before the query',
  ],
  ['0 matches; 3 in excluded files: pass include_hidden', '0 matches; 3 in excluded files: type >ignored before the query'],
  ['not searched: the submodules lib; `grep` with include_submodules searches them', 'not searched: the submodules lib; open one as a folder to search it'],
  ['2 binary files were not searched: pass include_binary', '2 binary files were not searched'],
  ["0 matches; 4 if files are read as Latin-1: pass encoding='latin1'", '0 matches; 4 if files are read as Latin-1'],
  ['5 files are not searched, as index.exclude_patterns says', '5 files are not searched, as winnow.index.exclude_patterns says'],
  ['1 file is too large to index (limits.parse_bytes)', '1 file is too large to index (winnow.limits.parse_bytes)'],
  ['open a folder below it, or set `workspace.allow_home_root`', 'open a folder below it, or set `winnow.workspace.allow_home_root`'],
  ['Correct or remove the setting `programs.rg`', 'Correct or remove the setting `winnow.programs.rg`'],
  ['an error: the setting `index.max_files`', 'an error: the setting `winnow.index.max_files`'],
  [
    'unclosed group; escape special characters with a backslash, or pass `literal` (`-F`)',
    'unclosed group; escape special characters with a backslash, or type " before it',
  ],
  [
    'Note: ignored and hidden files are not searched here: use `grep` with include_ignored and include_hidden.',
    'Note: ignored and hidden files were not searched; >ignored "text searches them, too.',
  ],
  ['the best in src/index.ts and index.html', 'the best in src/index.ts and index.html'],
])('%s', (text, expected) => {
  expect(forPeople(text)).toBe(expected)
})
