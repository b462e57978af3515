import { expect, test } from 'vitest'

import { afterLink, inlineCode, plainText } from './chat'
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
  const row = { where: 'src/my_app', code: 'def f():', reason: 'definition' } as Row
  expect(afterLink(row)).toBe(' src\\/my\\_app  \n   `def f():`  \n   definition\n')
  expect(afterLink({ ...row, code: '', reason: '' })).toBe(' src\\/my\\_app\n')
})
