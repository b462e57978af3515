// The extension for a platform, with the server inside, on a machine without Python and network.
//
// WINNOW_BUNDLE is its .vsix, from `scripts/build bundle`; without it, the test is skipped.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { project, startModel, temporary, withEditor } from './harness.mjs'
import { install, packaged } from './packages.mjs'

const { WINNOW_BUNDLE: bundle, WINNOW_OFFLINE: isOffline } = process.env
/** The maximum time from installing the extension to the first answer. */
const FIRST_ANSWER_MS = 60_000
/** The programs that code-server's own scripts need. */
const PROGRAMS = ['sh', 'bash', 'env', 'uname', 'dirname', 'readlink', 'getconf']

/** Create a folder with only these programs, for PATH. */
function onlyThesePrograms() {
  const folder = temporary('programs')
  for (const name of PROGRAMS) symlinkSync(execFileSync('which', [name], { encoding: 'utf-8' }).trim(), path.join(folder, name))
  return folder
}

async function answersWithoutPython() {
  const env = { PATH: onlyThesePrograms(), PYTHONPATH: '' }
  const installing = Date.now()
  const extensions = install([bundle, packaged('probe')], temporary('extensions'), temporary('install'), { ...process.env, ...env })
  const installed = Date.now()
  const model = await startModel()
  const settings = {
    'winnow.server.command': [],
    'winnow.llm.models': {
      openai: { provider: 'openai', model: 'some', base_url: `${model.address}/v1` },
      anthropic: { provider: 'anthropic', model: 'some', base_url: model.address },
    },
  }
  await withEditor({ folder: project(), settings, env, extensions }, async (editor) => {
    await editor.search('Search Text', 'def main')
    await editor.sees(editor.first, /^main\.py:1 def main/)
    const took = Date.now() - installing
    console.log(`Installing took ${installed - installing} ms, the first answer came after ${took} ms`)
    assert.ok(took < FIRST_ANSWER_MS, `the first answer came after ${took} ms`)
    const [server] = editor.processes(/winnow serve/)
    assert.match(server.command, new RegExp(`^${extensions}/winnow-ls\\.winnow-[^/]+/server/winnow serve$`))
    const [, searchPath] = /(?:^|\0)PATH=([^\0]*)/.exec(readFileSync(`/proc/${server.pid}/environ`, 'utf-8'))
    const found = searchPath.split(':').filter(existsSync).flatMap((folder) => readdirSync(folder))
    assert.deepEqual(found.filter((name) => /^(python|py|winnow|rg)/.test(name)), [])
    await editor.page.keyboard.press('Escape')
    // Symbols come from a child process with the grammars.
    await editor.search('Search Symbols', 'main')
    await editor.sees(editor.first, /^main/)
    await editor.page.keyboard.press('Escape')
    // Questions need numpy, and a model needs the packages of its provider.
    for (const name of ['openai', 'anthropic']) {
      await editor.probe('configure', { settings: { 'winnow.llm.preferred': [name] } })
      await editor.question(`where is hello printed for ${name}`)
      await editor.sees(editor.first, /^main\.py/)
      await editor.titled(new RegExp(` · Enter asks ${name}$`))
      await editor.page.keyboard.press('Enter')
      await editor.answered(name)
      await editor.page.keyboard.press('Escape')
    }
  })
  model.stop()
}

/** Run this file again in a network of its own, which has only this machine. */
function runOffline() {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const script = 'ip link set lo up && exec "$0" "$@"'
  const command = ['-rn', 'sh', '-c', script, process.execPath, fileURLToPath(import.meta.url)]
  execFileSync('unshare', command, { env: { ...env, WINNOW_OFFLINE: '1' }, stdio: 'inherit' })
}

test('the extension for a platform answers without Python and without network', {
  skip: !bundle && 'WINNOW_BUNDLE is not set',
}, isOffline ? answersWithoutPython : runOffline)
