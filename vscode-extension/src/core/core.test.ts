import { describe, expect, test } from 'vitest'

import { Backoff } from './backoff'
import { isBelow, programFolders, serverEnvironment } from './environment'
import { asMarkdown } from './export'
import { MOST_QUERIES, remembered } from './history'
import { summaryOf } from './index-state'
import { CODE, KEYWORD, pattern, TEXT, termsIn, termsText } from './modes'
import { rowOfCode } from './rows'
import { MOST_SEARCHES, type NewSearch, Searches } from './searches'
import { excludedGlobs, serverSettings } from './settings'
import { problemWith, versionIn } from './versions'

describe('a server that ends', () => {
  test('is started at once, then later and later, then not by itself any more', () => {
    const backoff = new Backoff(() => 1_000)
    const delays = [1, 2, 3, 4, 5].map(() => backoff.next())
    expect(delays).toEqual([0, 1_000, 4_000, 15_000, undefined])
  })

  test('is started at once again after a quiet while, or when somebody starts it', () => {
    let now = 0
    const backoff = new Backoff(() => now)
    backoff.next()
    now = 60_000
    expect(backoff.next()).toBe(1_000)
    now = 250_000
    expect(backoff.next()).toBe(0)
    backoff.next()
    backoff.reset()
    expect(backoff.next()).toBe(0)
  })
})

describe('a program is used', () => {
  test('if it is Winnow, and new enough', () => {
    expect(versionIn('winnow 0.1.0\n')).toBe('0.1.0')
    expect(versionIn('winnow: sorts grain, 2.0.0')).toBeUndefined()
    expect(problemWith('0.1.0', 'winnow')).toBeUndefined()
    expect(problemWith('1.0.0rc1', 'winnow')).toBeUndefined()
    expect(problemWith('0.0.9', '/bin/winnow')).toMatch(/^\/bin\/winnow is Winnow 0\.0\.9, and .* needs 0\.1\.0/)
  })

  test('from everywhere on PATH, but not from a workspace that is not trusted', () => {
    const search = '/usr/bin:/project/bin:bin:.:/projects:'
    expect(programFolders(search, ['/project'], true)).toEqual(['/usr/bin', '/project/bin', '/projects'])
    expect(programFolders(search, ['/project'], false)).toEqual(['/usr/bin', '/projects'])
    expect(isBelow('/project/..a', '/project')).toBe(true)
  })

  test('with the keys in its environment, and nothing else changed', () => {
    const environment = serverEnvironment({ PATH: '/project/bin:/usr/bin', A: '1' }, ['/project'], false, { K: 'key' })
    expect(environment).toEqual({ PATH: '/usr/bin', A: '1', K: 'key' })
  })
})

describe('settings', () => {
  test('are sent as a tree, and only if somebody has set them', () => {
    const settings = [
      { name: 'index.enabled', value: false, isSet: true },
      { name: 'index.max_files', value: 50_000, isSet: false },
      { name: 'programs.rg', value: null, isSet: true },
    ]
    expect(serverSettings(settings)).toEqual({ index: { enabled: false }, programs: { rg: null } })
    expect(serverSettings([])).toEqual({})
  })

  test('exclude what the editor excludes, without conditions and what is turned off', () => {
    const files = { '**/.git': true, '**/*.js': { when: '$(basename).ts' }, '**/out': true }
    const search = { '**/node_modules': true, '**/out': false }
    expect(excludedGlobs(files, search, undefined)).toEqual(['**/.git', '**/node_modules'])
  })
})

describe('what somebody types', () => {
  test('is text, or an expression between slashes; capitals make case matter', () => {
    expect(pattern('a.b')).toEqual({ pattern: 'a.b', literal: true, case_sensitive: false })
    expect(pattern('/a.b/')).toEqual({ pattern: 'a.b', literal: false, case_sensitive: false })
    expect(pattern('Ab')).toMatchObject({ case_sensitive: true })
    expect(pattern('//')).toMatchObject({ pattern: '//', literal: true })
  })

  test('are terms by commas, of which an expression may have some', () => {
    const terms = ['a{1,2}', 'b c']
    expect(termsIn(termsText(terms))).toEqual(terms)
    expect(termsIn(' a ,, b,a ')).toEqual(['a', 'b'])
  })

  test('is remembered once, the latest first', () => {
    expect(remembered(['a', 'b'], ' b ')).toEqual(['b', 'a'])
    expect(remembered(['a'], '  ')).toEqual(['a'])
    const many = Array.from({ length: 60 }, (_, place) => String(place))
    expect(remembered(many, 'new')).toHaveLength(MOST_QUERIES)
  })
})

test('requests ask for hidden and ignored files, and leave out what is excluded', () => {
  const choices = { terms: ['t'], exclude: ['**/out'], ignored: true }
  expect(KEYWORD.params('q', choices)).toEqual({
    query: 'q',
    search_terms: ['t'],
    broad_terms: 'shrink',
    exclude: ['**/out'],
    include_ignored: true,
    include_hidden: true,
  })
  expect(TEXT.params('q', { ...choices, ignored: false })).not.toHaveProperty('include_ignored')
})

describe('the last searches', () => {
  const search = (query: string, ...lines: number[]): NewSearch => ({
    mode: CODE,
    query,
    terms: [],
    rows: lines.map((line) => rowOfCode({ path: 'a.py', kind: 'match', line }, '/r')),
    others: lines.length,
    headline: { parts: [], details: [] },
    searchId: query,
  })

  test('are gone through in a round, from what was opened last', () => {
    const searches = new Searches()
    expect(searches.step(1)).toBeUndefined()
    const kept = searches.add(search('q', 1, 2, 3))
    const lines = () => ([1, 1, 1, 1, -1] as const).map((by) => searches.step(by)?.row.place.line)
    expect(lines()).toEqual([1, 2, 3, 1, 3])
    searches.opened(kept.id, kept.rows[1]?.key ?? '')
    expect(searches.step(-1)?.row.place.line).toBe(1)
    expect(new Searches().step(-1)).toBeUndefined()
  })

  test('are the latest, each query once', () => {
    const searches = new Searches()
    for (let place = 0; place < 12; place++) searches.add(search(`q${place}`, 1))
    searches.add(search('q5', 2))
    expect(searches.all).toHaveLength(MOST_SEARCHES)
    expect(searches.all.map((one) => one.query).slice(0, 3)).toEqual(['q5', 'q11', 'q10'])
    searches.remove(searches.all[0]?.id ?? 0)
    expect(searches.current?.query).toBe('q11')
  })
})

test('the state of the index in a few words', () => {
  const folder = { folder: '/r', state: 'ready' as const, files_indexed: 1200, files_total: 1200 }
  expect(summaryOf({ folders: [folder] })).toMatchObject({ icon: 'search', text: '1,200', isBuilding: false })
  expect(summaryOf({ folders: [{ ...folder, state: 'building', files_indexed: 30 }] })).toMatchObject({
    icon: 'sync~spin',
    text: '30 of 1,200',
  })
  expect(summaryOf({ folders: [folder], paused: true }).icon).toBe('debug-pause')
  const broken = summaryOf({ folders: [{ ...folder, problem: 'disk full' }] })
  expect(broken.icon).toBe('warning')
  expect(broken.lines[0]).toBe('Index of /r: ready, 1,200 of 1,200 files: disk full')
})

test('a search is exported with what was asked and why each result is there', () => {
  const row = rowOfCode({ path: 'src/a.py', kind: 'match', line: 3, why: 'has it' }, '/r')
  expect(asMarkdown('Code Search: it', ['1 result'], [row])).toBe(
    '# Code Search: it\n\n> 1 result\n\n- `src/a.py:3` has it\n',
  )
})
