// The extension for a platform, with the server inside, on a machine without Python and network.
//
// WINNOW_BUNDLE is its .vsix, from `scripts/build bundle`; without it, the test is skipped.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { project, temporary, withEditor } from './harness.mjs'
import { ENTRY } from './paths.mjs'

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

function install(file, env) {
  const extensions = temporary('extensions')
  const options = ['--user-data-dir', temporary('install'), '--extensions-dir', extensions]
  execFileSync(process.execPath, [ENTRY, ...options, '--install-extension', file], { env, stdio: 'pipe' })
  return extensions
}

async function answersWithoutPython() {
  const env = { PATH: onlyThesePrograms(), PYTHONPATH: '' }
  const installing = Date.now()
  const extensions = install(bundle, { ...process.env, ...env })
  const installed = Date.now()
  const settings = { 'winnow.server.command': [] }
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
  })
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
