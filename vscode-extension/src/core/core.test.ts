import { describe, expect, test } from 'vitest'

import { Backoff } from './backoff'
import { isInside, programFolders, serverEnvironment } from './environment'
import { asMarkdown } from './export'
import { MAX_QUERIES, withQuery } from './history'
import { summaryOf } from './index-state'
import { kindOf } from './kinds'
import { EMPTY, pattern, termsIn, termsText } from './query'
import { rowOfCode } from './rows'
import { MAX_SEARCHES, type NewSearch, Searches } from './searches'
import { excludedGlobs, serverSettings } from './settings'
import { versionProblem, versionIn } from './versions'

describe('a server that exits', () => {
  test('restarts immediately, then after increasing delays, then no more', () => {
    const backoff = new Backoff(() => 1_000)
    const delays = [1, 2, 3, 4, 5].map(() => backoff.nextDelay())
    expect(delays).toEqual([0, 1_000, 4_000, 15_000, undefined])
  })

  test('restarts immediately again after a quiet period or after the user starts it', () => {
    let now = 0
    const backoff = new Backoff(() => now)
    backoff.nextDelay()
    now = 60_000
    expect(backoff.nextDelay()).toBe(1_000)
    now = 250_000
    expect(backoff.nextDelay()).toBe(0)
    backoff.nextDelay()
    backoff.reset()
    expect(backoff.nextDelay()).toBe(0)
  })
})

describe('the server program', () => {
  test('must be a recent enough Winnow', () => {
    expect(versionIn('winnow 0.1.0\n')).toBe('0.1.0')
    expect(versionIn('winnow: sorts grain, 2.0.0')).toBeUndefined()
    expect(versionProblem('0.1.0', 'winnow')).toBeUndefined()
    expect(versionProblem('1.0.0rc1', 'winnow')).toBeUndefined()
    expect(versionProblem('0.0.9', '/bin/winnow')).toMatch(/^\/bin\/winnow is Winnow 0\.0\.9, but .* needs 0\.1\.0/)
  })

  test('comes from an absolute folder on PATH, but not from an untrusted workspace', () => {
    const searchPath = '/usr/bin:/project/bin:bin:.:/projects:'
    expect(programFolders(searchPath, ['/project'], true)).toEqual(['/usr/bin', '/project/bin', '/projects'])
    expect(programFolders(searchPath, ['/project'], false)).toEqual(['/usr/bin', '/projects'])
    expect(isInside('/project/..a', '/project')).toBe(true)
  })

  test('gets the keys and the allowed PATH in its environment, without other changes', () => {
    const environment = serverEnvironment({ PATH: '/project/bin:/usr/bin', A: '1' }, ['/project'], false, { K: 'key' })
    expect(environment).toEqual({ PATH: '/usr/bin', A: '1', K: 'key' })
  })
})

describe('settings', () => {
  test('are sent as a tree that contains only those the user set', () => {
    const settings = [
      { name: 'index.enabled', value: false, isSet: true },
      { name: 'index.max_files', value: 50_000, isSet: false },
      { name: 'programs.rg', value: null, isSet: true },
    ]
    expect(serverSettings(settings)).toEqual({ index: { enabled: false }, programs: { rg: null } })
    expect(serverSettings([])).toEqual({})
  })

  test('exclude globs from the editor, except conditional and disabled ones', () => {
    const files = { '**/.git': true, '**/*.js': { when: '$(basename).ts' }, '**/out': true }
    const search = { '**/node_modules': true, '**/out': false }
    expect(excludedGlobs(files, search, undefined)).toEqual(['**/.git', '**/node_modules'])
  })
})

describe('typed input', () => {
  test('is text, or a regular expression between slashes; capitals make it case-sensitive', () => {
    expect(pattern('a.b')).toEqual({ pattern: 'a.b', literal: true, case_sensitive: false })
    expect(pattern('/a.b/')).toEqual({ pattern: 'a.b', literal: false, case_sensitive: false })
    expect(pattern('/api/a.b/')).toMatchObject({ pattern: '/api/a.b/', literal: true })
    expect(pattern('Ab')).toMatchObject({ case_sensitive: true })
    expect(pattern('//')).toMatchObject({ pattern: '//', literal: true })
  })

  test('splits into terms at commas without a backslash', () => {
    const terms = ['a{1,2}', 'b c']
    expect(termsIn(termsText(terms))).toEqual(terms)
    expect(termsIn(' a ,, b,a ')).toEqual(['a', 'b'])
  })

  test('appears once in the history, the latest first', () => {
    expect(withQuery(['a', 'b'], ' b ')).toEqual(['b', 'a'])
    expect(withQuery(['a'], '  ')).toEqual(['a'])
    const many = Array.from({ length: MAX_QUERIES + 10 }, (_, index) => String(index))
    expect(withQuery(many, 'new')).toHaveLength(MAX_QUERIES)
  })
})

test('requests have the scope of the query', () => {
  const choices = { exclude: ['**/out'], changed: ['a[1].py'], asksModel: false }
  const query = { ...EMPTY, kind: 'terms' as const, words: 'q', terms: ['t'], isIgnored: true }
  expect(kindOf(query).params(query, choices)).toEqual({
    query: 'q',
    search_terms: ['t'],
    ranker: 'local',
    broad_terms: 'shrink',
    exclude: ['**/out'],
    include_ignored: true,
    include_hidden: true,
  })
  const narrowed = { ...EMPTY, words: 'q', types: ['py'], folder: 'src', isChanged: true }
  expect(kindOf(narrowed).params(narrowed, { ...choices, asksModel: true })).toEqual({
    query: 'q',
    limit: 50,
    ranker: 'auto',
    exclude: ['**/out'],
    file_types: ['py'],
    path: 'src',
    include: ['/a[[]1[]].py'],
    repositories: [],
  })
  // The index has no ignored files.
  expect(kindOf({ ...EMPTY, isIgnored: true })).toBe(kindOf({ ...EMPTY, kind: 'text' }))
})

describe('recent searches', () => {
  const search = (text: string, ...lines: number[]): NewSearch => ({
    text,
    rows: lines.map((line) => rowOfCode({ path: 'a.py', kind: 'match', line }, '/r')),
    chosenCount: lines.length,
    headline: { by: 'local', count: '', note: '', isEarly: false, details: [] },
    searchId: text,
  })

  test('are stepped through from the result opened last, wrapping around', () => {
    const searches = new Searches()
    expect(searches.step(1)).toBeUndefined()
    const stored = searches.add(search('q', 1, 2, 3))
    const lines = () => ([1, 1, 1, 1, -1] as const).map((by) => searches.step(by)?.row.place.line)
    expect(lines()).toEqual([1, 2, 3, 1, 3])
    searches.opened(stored.id, stored.rows[1]?.key ?? '')
    expect(searches.step(-1)?.row.place.line).toBe(1)
    expect(new Searches().step(-1)).toBeUndefined()
  })

  test('are limited to the latest, each query once', () => {
    const searches = new Searches()
    for (let index = 0; index < 12; index++) searches.add(search(`q${index}`, 1))
    searches.add(search('q5', 2))
    expect(searches.all).toHaveLength(MAX_SEARCHES)
    expect(searches.all.map((stored) => stored.text).slice(0, 3)).toEqual(['q5', 'q11', 'q10'])
    searches.remove(searches.all[0]?.id ?? 0)
    expect(searches.current?.text).toBe('q11')
  })
})

describe('the index summary', () => {
  const folder = { folder: '/r', state: 'ready' as const, files_indexed: 1200, files_total: 1200 }
  const building = { ...folder, state: 'building' as const, files_indexed: 0 }

  test('says when the index is ready, paused or being updated', () => {
    expect(summaryOf({ folders: [folder] })).toMatchObject({ icon: 'search', text: 'Winnow: ready', isBuilding: false })
    expect(summaryOf({ folders: [folder], paused: true }).icon).toBe('debug-pause')
    const stale = { ...folder, state: 'stale' as const }
    expect(summaryOf({ folders: [stale] })).toMatchObject({ text: 'Winnow: updating', isBuilding: true })
  })

  test('counts texts and definitions, half each', () => {
    const shown = (texts: number | undefined, definitions: number) =>
      summaryOf({ folders: [{ ...building, files_indexed: definitions, ...(texts === undefined ? {} : { texts_indexed: texts }) }] })
    expect(shown(undefined, 0)).toMatchObject({ icon: 'sync~spin', text: 'Winnow: indexing 0 %' })
    expect(shown(600, 0).text).toBe('Winnow: indexing 25 %')
    expect(shown(1200, 0).text).toBe('Winnow: indexing 50 %')
    expect(shown(1200, 600).text).toBe('Winnow: indexing 75 %')
    expect(shown(undefined, 1200).text).toBe('Winnow: indexing 99 %')
    expect(shown(1200, 600).lines[0]).toBe('Index of /r: building, the texts of 1,200 and the definitions of 600 of 1,200 files')
  })

  test('shows problems, but a folder without files is none', () => {
    const broken = summaryOf({ folders: [{ ...folder, problem: 'disk full' }] })
    expect(broken).toMatchObject({ icon: 'warning', text: 'Winnow: index problem' })
    expect(broken.lines[0]).toBe('Index of /r: ready, 1,200 of 1,200 files: disk full')
    const empty = { ...folder, files_indexed: 0, files_total: 0, problem: 'the folder has no files to search' }
    expect(summaryOf({ folders: [empty] })).toMatchObject({
      icon: 'info',
      text: 'Winnow: no files',
      lines: ['Index of /r: ready, no files: the folder has no files to search'],
    })
    expect(summaryOf({ folders: [folder, empty] }).text).toBe('Winnow: ready')
    expect(summaryOf({ folders: [{ ...empty, state: 'none' }] }).text).toBe('Winnow: no index')
  })
})

test('an exported search has its title, notes and the reason for each result', () => {
  const row = rowOfCode({ path: 'src/a.py', kind: 'match', line: 3, why: 'has it' }, '/r')
  expect(asMarkdown('Code Search: it', ['1 result'], [row])).toBe(
    '# Code Search: it\n\n> 1 result\n\n- `src/a.py:3` has it\n',
  )
})
