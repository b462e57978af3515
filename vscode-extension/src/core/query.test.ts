import { describe, expect, test } from 'vitest'

import { EMPTY, formatQuery, hintsFor, isSearchable, parseQuery, prefixProblem } from './query'

describe('typed text', () => {
  test.each([
    ['how is it', { words: 'how is it' }],
    ['@Client.send', { kind: 'symbols', words: 'Client.send' }],
    ['"permission denied"', { kind: 'text', words: 'permission denied' }],
    ['"permission den', { kind: 'text', words: 'permission den' }],
    ['/def \\w+/', { kind: 'text', words: '/def \\w+/' }],
    ['>docs retention', { kind: 'documents', words: 'retention' }],
    ['>docs "a b"', { kind: 'documents', words: '"a b"' }],
    ['>changed >type:py,ts @run', { kind: 'symbols', words: 'run', types: ['py', 'ts'], isChanged: true }],
    ['>in:src/app it', { words: 'it', folder: 'src/app' }],
    ['>in:"my src" it', { words: 'it', folder: 'my src' }],
    ['>ignored it', { words: 'it', isIgnored: true }],
    ['>terms how -- a, b\\,c', { kind: 'terms', words: 'how', terms: ['a', 'b,c'] }],
    ['a > b', { words: 'a > b' }],
    ['>unknown it', { words: '>unknown it' }],
    ['/usr/bin', { words: '/usr/bin' }],
    ['/api/items/<int:pk>/', { words: '/api/items/<int:pk>/' }],
    ['/* a comment */', { words: '/* a comment */' }],
    ['/** another */', { words: '/** another */' }],
    ['/src/.*\\.py/', { kind: 'text', words: '/src/.*\\.py/' }],
  ])('%s', (typed, expected) => {
    expect(parseQuery(typed)).toEqual({ ...EMPTY, ...expected })
  })

  test.each([
    'how is it',
    '@Client.send',
    '"permission denied"',
    '/def \\w+/',
    '"/api/items/5/"',
    '>docs retention',
    '>changed >type:py,ts >in:"my src" @run',
    '>ignored it',
    '>terms how -- a, b\\,c',
  ])('is the same after parsing and formatting: %s', (typed) => {
    expect(formatQuery(parseQuery(typed))).toBe(typed)
  })

  test('is narrowed and widened without losing the words', () => {
    const query = parseQuery('>type:py where is it')
    expect(formatQuery({ ...query, kind: 'symbols', isChanged: true })).toBe('>changed >type:py @where is it')
    expect(formatQuery({ ...query, types: [] })).toBe('where is it')
  })

  test('is searched for from the second letter', () => {
    const searchable = ['a', 'ab', '@a', '@ab', '>docs a', '>docs ab', '日本', '>terms a -- b']
    expect(searchable.map((typed) => isSearchable(parseQuery(typed)))).toEqual([
      false, true, false, true, false, true, true, true,
    ])
  })

  test('may begin like a prefix without being one', () => {
    expect(prefixProblem('>unknown it')).toMatch(/^“>unknown” is searched for as text\. The prefixes are >docs, /)
    expect(prefixProblem('>changed >Type:py it')).toMatch(/^“>Type” /)
    expect(['>type:py it', '>docs', '>>> f()', '> quoted', '>= 1', 'a >b'].filter(prefixProblem)).toEqual([])
  })

  test('is completed if it begins a prefix', () => {
    const hints = (typed: string) => hintsFor(typed).map(([prefix]) => prefix)
    expect(hints('')).toEqual(['@', '"', '>docs '])
    expect(hints('>')).toEqual(['>docs ', '>type:', '>in:', '>changed ', '>ignored ', '>terms '])
    expect(hints('>t')).toEqual(['>type:', '>terms '])
    expect(['>docs', '>type:', '>type:py', '>= 1', 'a'].flatMap(hints)).toEqual([])
    for (const prefix of hints('>')) expect(parseQuery(`${prefix}x`).words).not.toMatch(/^>/)
  })
})
