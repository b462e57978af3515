// Files of repositories in the team's search cluster, which this machine doesn't have.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'

import { CHECKOUT, project, PYTHON, startEditor } from './harness.mjs'

const TEXT = 'PART_BYTES = 1024\n\n\ndef split_parts(data):\n    return data[:PART_BYTES]\n'
const isInstalled = spawnSync(PYTHON, ['-c', 'import opensearchpy']).status === 0
const skip = isInstalled ? false : 'winnow-ls[cluster] is not installed'
let cluster
let settings

before(async () => {
  cluster = spawn(PYTHON, [path.join(CHECKOUT, 'tests/fake_cluster.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
  const address = (await createInterface(cluster.stdout)[Symbol.asyncIterator]().next()).value
  settings = {
    'winnow.cluster.addresses': [address],
    'winnow.cluster.repositories': ['team/*'],
    'winnow.cluster.seconds': 30,
  }
})

after(() => cluster?.stdin.end())

test('a result of the cluster is previewed, opens read-only, and is in the results view', { skip }, async () => {
  const editor = await startEditor({ folder: project(), settings })
  try {
    const { page } = editor
    await editor.search('Search Text', 'def split_parts')
    await editor.answered('')
    await editor.sees(editor.first, /parts\.py:4 ?team\/parts:src ?def split_parts\(data\):/)
    await page.keyboard.press('ArrowDown')
    assert.match((await editor.previews(4)).text, /def split_parts\(data\):/)
    await page.keyboard.press('Enter')
    await editor.hasFocus()
    await page.locator('.tab.active', { hasText: 'parts.py' }).waitFor()
    await editor.seesLine(4, /def split_parts\(data\):/)
    // The language is that of the file's name.
    await page.locator('#status\\.editor\\.mode', { hasText: 'Python' }).waitFor()
    await page.keyboard.type('x')
    await page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor()
    await page.keyboard.press('Escape')
    await editor.command('View: Close All Editors')
    await editor.command('Winnow: Next Result')
    await editor.seesLine(4, /def split_parts\(data\):/)
    await editor.screenshot('a file of the search cluster')
  } finally {
    await editor.close()
  }
})

test('the same file of the workspace is opened instead', { skip }, async () => {
  const folder = project()
  mkdirSync(path.join(folder, '.git'))
  mkdirSync(path.join(folder, 'src'))
  const editor = await startEditor({ folder, settings })
  try {
    const { page } = editor
    await editor.search('Search Text', 'def split_parts')
    await editor.answered('')
    await editor.sees(editor.first, /team\/parts:src/)
    // As if the folder became a clone after the search.
    writeFileSync(path.join(folder, '.git/config'), '[remote "origin"]\n\turl = git@example.com:team/parts.git\n')
    writeFileSync(path.join(folder, 'src/parts.py'), TEXT)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await editor.hasFocus()
    await page.locator('.tab.active', { hasText: 'parts.py' }).waitFor()
    await editor.seesLine(4, /def split_parts\(data\):/)
    await page.keyboard.type('x')
    await page.locator('.tab.active.dirty').waitFor()
  } finally {
    await editor.close()
  }
})
