import { expect, test } from 'vitest'

import { afterLink, inlineCode, plainText, shownOf } from './chat'
import type { Row } from './rows'

test('code with backticks stays code', () => {
  expect(inlineCode('return x')).toBe('`return x`')
  expect(inlineCode('a `b` c')).toBe('``a `b` c``')
  expect(inlineCode('```js')).toBe('```` ```js ````')
})

test('a text from a file has no links, images or formats', () => {
  expect(plainText('![x](http://e/*a*)')).toBe('\\!\\[x\\]\\(http\\:\\/\\/e\\/\\*a\\*\\)')
  expect(plainText('<img src=x>')).toBe('\\<img src=x\\>')
  expect(plainText('plain words')).toBe('plain words')
})

test('an item has its folder, code and reason on lines of their own', () => {
  const row = { name: 'a.py:1', path: 'src/my_app/a.py', displayPath: 'src/my_app/a.py', where: 'src/my_app', code: 'def f():', reason: 'definition' } as Row
  expect(afterLink(row)).toBe(' src\\/my\\_app  \n   `def f():`  \n   definition\n')
  expect(afterLink({ ...row, code: '', reason: '' })).toBe(' src\\/my\\_app\n')
  const definition = { ...row, name: 'Shop.f', where: 'src/my_app/a.py:1', code: '', reason: '' }
  expect(afterLink(definition)).toBe(' src\\/my\\_app  Shop\\.f\n')
})

test('the first line says how many of the results are listed', () => {
  expect(shownOf('50 of 1,246 results', 50, 5)).toBe('The first 5 of 1,246 results')
  expect(shownOf('12 results', 12, 5)).toBe('The first 5 of 12 results')
  expect(shownOf('1 result', 1, 5)).toBe('1 result')
})
