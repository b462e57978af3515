import { expect, test } from 'vitest'

import { highlightsOf } from './highlights'

const marked = (query: string, text: string) => highlightsOf(query, text).map(([start, end]) => text.slice(start, end))

test('the words of a question are found in names, whatever their case and ending', () => {
  expect(marked('how are passwords hashed', 'class PasswordHasher:')).toEqual(['PasswordHash'])
  expect(marked('session cookies', 'def set_session_cookie(self):')).toEqual(['session', 'cookie'])
  expect(marked('http request', 'parseHTTPRequest')).toEqual(['HTTPRequest'])
  expect(marked('where are documents', 'DocumentSource, documents')).toEqual(['Document', 'documents'])
})

test('a word inside of another one is not found', () => {
  expect(marked('are', 'parent = compare(share)')).toEqual([])
  expect(marked('is it', 'this.isItem')).toEqual([])
})

test('common words are highlighted only alone or in exact text', () => {
  expect(marked('how does a worker steal from other workers', '// from the local queue, so other workers')).toEqual(['workers'])
  expect(marked('other', 'is_other(other)')).toEqual(['other', 'other'])
  expect(marked('"from the', '// from the local queue')).toEqual(['from', 'the'])
})

test('prefixes of the box are no words, terms are', () => {
  expect(marked('@Client.send', 'def send(client)')).toEqual(['send', 'client'])
  expect(marked('"permission denied"', "raise Error('Permission denied')")).toEqual(['Permission', 'denied'])
})

test('overlapping words are one highlight', () => {
  expect(highlightsOf('data database', 'database')).toEqual([[0, 8]])
  expect(highlightsOf('über', '😀 Über')).toEqual([[3, 7]])
  expect(highlightsOf('', 'text')).toEqual([])
})
