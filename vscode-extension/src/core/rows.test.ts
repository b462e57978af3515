import { describe, expect, test } from 'vitest'

import { placeText } from './export'
import { offsetOfColumn, targetOf } from './places'
import { oneLine, rowOfCode, rowOfFile, rowOfGrep, rowOfPassage, rowOfSymbol, rowsOfDocument } from './rows'

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
    label: 'loader.py:7',
    description: 'src',
    detail: 'loads plugins',
    place: { target: '/root/src/loader.py', line: 7, columns: [5, 9] },
  })
  expect(row.lines.map((line) => line.place.line)).toEqual([3, 7])
})

test('a hit shows its folder if the workspace has several', () => {
  const preview = [{ line: 2, text: 'x = 1' }]
  const match = { line: 2, column: 1, match_range: [1, 2] as [number, number], preview }
  const row = rowOfGrep({ path: 'src/a.py', root: '/home/me/tool', ...match }, '/home/me/other')
  expect(row).toMatchObject({ detail: 'a.py:2  tool/src', path: 'src/a.py', displayPath: 'tool/src/a.py' })
  expect(rowOfGrep({ path: 'a.py', root: 'C:\\code\\tool\\', ...match }, 'C:\\').detail).toBe('a.py:2  tool')
  expect(placeText(row)).toBe('tool/src/a.py:2')
})

test('a file found only by the index is marked and opens at its passage', () => {
  const passage = { start_line: 12, end_line: 20 }
  const row = rowOfFile(
    { path: 'a.py', reason: 'about it', terms: [], matches: [], by: 'index', passage },
    '/root',
  )
  expect(row).toMatchObject({ label: 'a.py:12', description: ' · found by the index' })
})

test('a file shows the line that it opens at after the reason', () => {
  const row = rowOfFile(
    { path: 'a.py', reason: 'about it', terms: [], matches: [], line: 14, line_text: '  def it():' },
    '/root',
  )
  expect(row).toMatchObject({ label: 'a.py:14', detail: 'about it — def it():' })
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
  expect(rowOfGrep(match, '/r')).toMatchObject({ label: 'x = (', detail: 'a.py:2' })
})

test('a symbol in a test file is marked as such', () => {
  const row = rowOfSymbol(
    { path: 'tests/a.py', name: 'run', qualified_name: 'T.run', kind: 'method', line: 4, column: 9, place: 'test' },
    '/r',
  )
  expect(row).toMatchObject({
    label: '$(symbol-method) T.run',
    description: 'tests/a.py:4 · test',
    place: { line: 4, columns: [9, 12] },
  })
})

test('a file found by its name has no line', () => {
  const row = rowOfCode({ path: 'src/a.py', kind: 'file', why: 'its name' }, '/r')
  expect(row).toMatchObject({ label: 'a.py', detail: 'its name', place: { line: undefined } })
})

test('a passage shows its best line and opens there', () => {
  const passage = {
    path: 'src/a.py',
    start_line: 10,
    end_line: 40,
    best_line: 22,
    snippet: '@cached\ndef load():\n    pass',
    snippet_line: 21,
    symbol: 'load',
    why: 'defines load',
  }
  expect(rowOfPassage(passage, '/r')).toMatchObject({
    label: 'a.py:22  load',
    detail: 'def load(): — defines load',
    place: { line: 22 },
  })
  const { best_line, snippet_line, ...first } = passage
  expect(rowOfPassage(first, '/r')).toMatchObject({
    label: 'a.py:10  load',
    detail: '@cached — defines load',
  })
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
      label: 'Retention: for ever',
      detail: 'h.pdf · page 2 · docs',
      place: { target: 'winnow-doc:///r/docs/h.pdf', line: 9 },
      document: 'file:///r/docs/h.pdf#page=2',
    },
  ])
})

test('long text is cut', () => {
  expect(oneLine('x'.repeat(400))).toHaveLength(301)
})
