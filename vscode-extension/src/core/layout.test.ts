import { expect, test } from 'vitest'

import { beforeMaximized, type EditorLayout, withGroupBelow } from './layout'

const below = { size: 300 }

test('a maximized group gets its size back', () => {
  const columns: EditorLayout = { orientation: 0, groups: [{ size: 300 }, { size: 1000 }, { size: 200 }] }
  const split: EditorLayout = { orientation: 1, groups: [{ size: 300, groups: [{ size: 200 }, { size: 667 }, { size: 133 }] }, below] }
  expect(beforeMaximized(columns, split)?.groups).toEqual([{ size: 300 }, { size: 500 }, { size: 200 }])
  const rows: EditorLayout = { orientation: 1, groups: [{ size: 600 }, { size: 200 }] }
  const splitRows: EditorLayout = { orientation: 1, groups: [{ size: 300, groups: [{ size: 1000, groups: rows.groups }] }, below] }
  expect(beforeMaximized(rows, splitRows)?.groups).toEqual([{ size: 400 }, { size: 200 }])
})

test('no group is maximized if all fit into the window', () => {
  const columns: EditorLayout = { orientation: 0, groups: [{ size: 400 }, { size: 601 }] }
  const split: EditorLayout = { orientation: 1, groups: [{ size: 300, groups: [{ size: 400 }, { size: 600 }] }, below] }
  expect(beforeMaximized(columns, split)).toBeUndefined()
  expect(withGroupBelow(columns).groups[0]?.groups).toEqual(columns.groups)
})
