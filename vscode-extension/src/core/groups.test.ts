import { expect, test } from 'vitest'

import { byFile } from './groups'
import type { Row } from './rows'

test('rows are grouped by file, in the order of the best row of each', () => {
  const row = (displayPath: string, key: string) => ({ displayPath, key, place: { target: `/r/${displayPath}` } }) as Row
  const groups = byFile([row('b.py', '1'), row('a.py', '2'), row('b.py', '3')])
  expect(groups.map(({ target, rows }) => [target, rows.map(({ key }) => key).join('')])).toEqual([
    ['/r/b.py', '13'],
    ['/r/a.py', '2'],
  ])
})
