import { describe, expect, test } from 'vitest'

import { OtherLanguages, within } from './coexistence'

const never = () => new Promise<boolean>(() => undefined)

describe('languages of other extensions', () => {
  test('are remembered once another extension has answered', async () => {
    const languages = new OtherLanguages()
    expect(await languages.isHandled('python', async () => true)).toBe(true)
    expect(await languages.isHandled('python', never)).toBe(true)
    expect(languages.all).toEqual(['python'])
    languages.clear()
    expect(await languages.isHandled('python', async () => false)).toBe(false)
  })

  test('are probed again, because another extension may start later', async () => {
    const languages = new OtherLanguages()
    expect(await languages.isHandled('python', async () => false)).toBe(false)
    expect(await languages.isHandled('python', async () => true)).toBe(true)
  })

  test('include one whose extension is slow, until it has answered', async () => {
    const languages = new OtherLanguages(20)
    expect(await languages.isHandled('rust', never)).toBe(true)
    expect(languages.all).toEqual([])
    expect(await languages.isHandled('rust', async () => false)).toBe(false)
  })
})

test('a slow task gives no result', async () => {
  expect(await within(5, never())).toBeUndefined()
  expect(await within(5_000, Promise.resolve('result'))).toBe('result')
})
