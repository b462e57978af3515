import { describe, expect, test } from 'vitest'

import { Appending } from './collect'
import { placeText } from './export'
import { currentLine, offsetOfColumn, repositoryFile, splitPath, targetOf, textsOf } from './places'
import type { GrepMatch } from './protocol'
import { folderOf, oneLine, rowOfCode, rowOfFile, rowOfGrep, rowOfNotChosen, rowOfSymbol, rowsOfDocument, secondLine } from './rows'

describe('places', () => {
  test('columns in code points become offsets in UTF-16 units', () => {
    expect([1, 2, 3, 4, 99].map((column) => offsetOfColumn('a😀b', column))).toEqual([0, 1, 3, 4, 4])
  })

  test("a path is joined to its own root or the answer's; a URI replaces a path that is not Unicode", () => {
    expect(targetOf({ path: 'a/b.py' }, '/root')).toBe('/root/a/b.py')
    expect(targetOf({ path: 'b.py', root: '/other' }, '/root')).toBe('/other/b.py')
    expect(targetOf({ path: 'b.py' }, '/')).toBe('/b.py')
    expect(targetOf({ path: '?', uri: 'file:///%FF' }, '/root')).toBe('file:///%FF')
  })

  test.each([
    ['team/project', 'c1', 'src/a.py'],
    ['team/project@feature/x', '0a1b', 'src/@types/a:b #?%20é.ts'],
    ['project', '', 'README.md'],
  ])('the URI of a file of %s names its repository, commit and path', (repository, commit, path) => {
    const uri = new URL(targetOf({ path, repository, commit }, '/root'))
    expect([uri.protocol, uri.host, uri.search, uri.hash]).toEqual(['winnow:', '', '', ''])
    expect(repositoryFile(decodeURIComponent(uri.pathname))).toEqual({ repository, commit, path })
  })

  test('a displayed path is split before the name of the file', () => {
    expect(splitPath({ path: 'src/a.py', shown: 'src/a.py' })).toEqual({ name: 'a.py', folder: 'src' })
    expect(splitPath({ path: 'a.py', shown: 'a.py' })).toEqual({ name: 'a.py', folder: '' })
    expect(splitPath({ path: 'a.py', shown: 'team/project:a.py' })).toEqual({ name: 'a.py', folder: 'team/project:' })
  })
})

describe('the line of a place after a change of its file', () => {
  const lines = ['import tea', '', 'def pour():', '    brew()', '', 'def brew():', '    return tea']
  const find = (line: number, ...texts: string[]) =>
    currentLine({ target: '', line, texts: textsOf(...texts) }, lines.length, (number) => lines[number - 1] ?? '')

  test.each([
    ['is the same if it still has the text', 6, ['def brew():'], 6],
    ['is the nearest one with the text', 2, ['def brew():'], 6],
    ['is found by a part of a long line', 9, ['…return te…'], 7],
    ['is found by the next text if the first is gone', 2, ['def brew(cup):', 'brew'], 4],
    ['is the same if no line has a text', 3, ['def steep():'], 3],
    ['is the same without a text', 4, [''], 4],
    ['is the last one if there are fewer', 99, [], 7],
  ])('%s', (_, line, texts, expected) => {
    expect(find(line, ...texts)).toBe(expected)
  })
})

test('a row of the search cluster names its repository', () => {
  const hit = { path: 'src/parts.py', line: 4, kind: 'match' as const, repository: 'team/parts', commit: 'c1' }
  const row = rowOfCode(hit, '/root')
  expect(row).toMatchObject({
    name: 'parts.py:4',
    where: 'team/parts:src',
    place: { target: 'winnow:///team/parts@c1:/src/parts.py', line: 4 },
    repository: 'team/parts',
  })
  expect(placeText(row)).toBe('team/parts:src/parts.py:4')
  expect(row.key).not.toBe(rowOfCode({ path: 'src/parts.py', line: 4, kind: 'match' }, '/root').key)
})

test('a ranked file has its reason on the second line and opens at its best line', () => {
  const row = rowOfFile(
    {
      path: 'src/loader.py',
      reason: 'loads\n  plugins',
      terms: ['load'],
      line: 7,
      matches: [
        { line: 3, column: 1, text: 'import load', match_range: [8, 12] },
        { line: 7, column: 5, text: 'def load():', match_range: [5, 9] },
      ],
    },
    '/root',
  )
  expect(row).toMatchObject({
    name: 'loader.py:7',
    where: 'src',
    code: 'def load():',
    reason: 'loads plugins',
    place: { target: '/root/src/loader.py', line: 7, columns: [5, 9], texts: ['def load():'] },
  })
  expect(row.lines.map((line) => line.place.line)).toEqual([3, 7])
})

test('a hit shows its folder if the workspace has several', () => {
  const preview = [{ line: 2, text: 'x = 1' }]
  const match = { line: 2, column: 1, match_range: [1, 2] as [number, number], preview }
  const row = rowOfGrep({ path: 'src/a.py', root: '/home/me/tool', ...match }, '/home/me/other')
  expect(row).toMatchObject({ name: 'a.py:2', where: 'tool/src', path: 'src/a.py', displayPath: 'tool/src/a.py' })
  expect(rowOfGrep({ path: 'a.py', root: 'C:\\code\\tool\\', ...match }, 'C:\\').where).toBe('tool')
  expect(placeText(row)).toBe('tool/src/a.py:2')
})

test('the second line has the code and the reason, and is never empty', () => {
  const file = { path: 'a.py', reason: 'about it', terms: [], matches: [], line: 14 }
  expect(secondLine(rowOfFile({ ...file, line_text: '  def it():' }, '/r'))).toBe('def it():  —  about it')
  // A short reason leaves more room for the code.
  const long = { ...file, line_text: 'x'.repeat(99) }
  expect(secondLine(rowOfFile(long, '/r'))).toMatch(/^x{70}…  —  about it$/)
  expect(secondLine(rowOfFile({ ...long, reason: 'y'.repeat(48) }, '/r'))).toMatch(/^x{51}…  —  y{48}$/)
  expect(secondLine(rowOfFile(file, '/r'))).toBe('about it')
  expect(secondLine(rowOfNotChosen({ path: 'src/a.py', line: 3 }, '/r'))).toBe('src/a.py')
})

test('a search is narrowed to the folder of a row, with that of the workspace if there are several', () => {
  const folders = (hit: object) => folderOf(rowOfCode({ path: 'a/b.py', kind: 'match', ...hit }, '/r'))
  expect([{}, { root: '/work/shop' }, { path: 'b.py', root: '/work/shop' }, { path: 'b.py' }].map(folders)).toEqual([
    ['a'], ['shop/a'], ['shop'], [],
  ])
})

test('a long line of text starts shortly before its match', () => {
  const preview = [{ line: 2, text: `${'a'.repeat(90)}match${'b'.repeat(20)}` }]
  const match = { path: 'a.html', line: 2, column: 91, match_range: [91, 96] as [number, number], preview }
  expect(rowOfGrep(match, '/r').code).toMatch(/^…a{24}matchb{20}$/)
  // Not with the rest of another word.
  const words = { ...match, preview: [{ line: 2, text: `${'a'.repeat(70)}, ${'a'.repeat(16)}, match` }] }
  expect(rowOfGrep(words, '/r').code).toMatch(/^…, a{16}, match$/)
})

test('further matches of a line, which have no text, are in the row of the first', () => {
  const match = { path: 'a.py', line: 2, column: 1, match_range: [1, 2] as [number, number], preview: [{ line: 2, text: 'x = x' }] }
  const further = { ...match, column: 5, match_range: [5, 6] as [number, number], preview: [] }
  const rows = new Appending<GrepMatch[], never>('/r', (matches, root) => matches.map((each) => rowOfGrep(each, root)))
  rows.partial([match])
  rows.partial([further, { ...match, line: 3 }])
  expect(rows.list().rows.map(({ name }) => name)).toEqual(['a.py:2', 'a.py:3'])
})

test('a match that spans several lines has no columns', () => {
  const match = {
    path: 'a.py',
    line: 2,
    column: 3,
    match_range: [3, 1] as [number, number],
    preview: [{ line: 2, text: '  x = (' }],
  }
  expect(rowOfGrep(match, '/r').place.columns).toEqual([3, 1])
  expect(rowOfGrep({ ...match, end_line: 4 }, '/r').place.columns).toBeUndefined()
  expect(rowOfGrep(match, '/r')).toMatchObject({ code: 'x = (', name: 'a.py:2' })
})

test('a symbol in a test file is marked as such', () => {
  const row = rowOfSymbol(
    { path: 'tests/a.py', name: 'run', qualified_name: 'T.run', kind: 'method', line: 4, column: 9, place: 'test' },
    '/r',
  )
  expect(row).toMatchObject({
    icon: 'symbol-method',
    name: 'T.run',
    where: 'tests/a.py:4',
    reason: 'method in a test file',
    place: { line: 4, columns: [9, 12] },
  })
  const example = { path: 'examples/a.py', name: 'run', qualified_name: 'run', kind: 'function', line: 4, column: 9, place: 'example' } as const
  expect(rowOfSymbol(example, '/r').reason).toBe('function in an example file')
})

test('a file found by its name has no line', () => {
  expect(rowOfCode({ path: 'src/a.py', kind: 'file' }, '/r')).toMatchObject({
    icon: 'file',
    name: 'a.py',
    where: 'src',
    reason: 'file name matches',
    place: { line: undefined },
  })
})

test('a definition is shown by its name', () => {
  const hit = { path: 'src/a.py', kind: 'definition' as const, line: 3, symbol: 'A.run', why: 'method in a test file' }
  expect(rowOfCode(hit, '/r')).toMatchObject({ icon: 'symbol-method', name: 'A.run', where: 'src/a.py:3', reason: 'definition in a test file' })
  expect(rowOfCode({ ...hit, why: 'enum member' }, '/r').reason).toBe('definition')
})

test('a frame of a stack trace says so', () => {
  const hit = { path: 'src/a.py', line: 3, best_line: 5, symbol: 'A.run', why: 'frame 2 of the stack trace: `run`' }
  const frame = { icon: 'debug-stackframe', reason: 'frame 2 of the stack trace' }
  expect(rowOfCode({ ...hit, kind: 'definition' }, '/r')).toMatchObject({ name: 'A.run', where: 'src/a.py:5', ...frame })
  expect(rowOfCode({ ...hit, kind: 'passage' }, '/r')).toMatchObject({ name: 'a.py:5', ...frame })
})

test('a passage shows its best line and opens there', () => {
  const passage = {
    path: 'src/a.py',
    kind: 'passage' as const,
    line: 10,
    end_line: 40,
    best_line: 22,
    snippet: '@cached\ndef load():\n    pass',
    snippet_line: 21,
    symbol: 'load',
    why: 'mentions load, plugins, entry points and modules; file name: a',
  }
  expect(rowOfCode(passage, '/r')).toMatchObject({
    name: 'a.py:22',
    where: 'src  load',
    code: 'def load():',
    reason: 'mentions load, plugins, entry points and modules',
    place: { line: 22 },
  })
  const reasonFor = (why: string) => rowOfCode({ ...passage, symbol: 'A.load', why }, '/r').reason
  expect(reasonFor('defines load; mentions plugins')).toBe('mentions plugins')
  expect(reasonFor('defines unload; mentions plugins')).toBe('defines unload; mentions plugins')
  expect(reasonFor('defines load')).toBe('defines load')
  const { best_line, snippet_line, ...first } = passage
  expect(rowOfCode(first, '/r')).toMatchObject({ name: 'a.py:10', code: '@cached' })
})

test('each matching line of a document is a row with its page', () => {
  const match = {
    line: 9,
    column: 1,
    text: ' Retention: for ever ',
    match_range: [1, 10] as [number, number],
    preview_uri: 'winnow-doc:///r/docs/h.pdf#L9',
    open_uri: 'file:///r/docs/h.pdf#page=2',
    page: 2,
    section: 'Releases',
  }
  const rows = rowsOfDocument({ path: 'docs/h.pdf', format: 'pdf', total: 1, matches: [match] })
  expect(rows).toMatchObject([
    {
      name: 'h.pdf · page 2',
      where: 'docs',
      code: 'Retention: for ever',
      place: { target: 'winnow-doc:///r/docs/h.pdf', line: 9 },
      document: 'file:///r/docs/h.pdf#page=2',
    },
  ])
  const { page, section, ...line } = match
  const text = { ...line, preview_uri: 'winnow-doc:///r/a.md#L9', open_uri: 'file:///r/a.md' }
  const [row] = rowsOfDocument({ path: 'a.md', format: 'text', total: 1, matches: [text] })
  expect(row).toMatchObject({ name: 'a.md:9', place: { target: 'file:///r/a.md', line: 9 } })
})

test('long text is cut', () => {
  expect(oneLine('x'.repeat(400))).toHaveLength(301)
})
