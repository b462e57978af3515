// Winnow beside pyright, by hand: WINNOW_MEASURE=1 scripts/test vscode pyright
//
// WINNOW_PYRIGHT is the folder of the npm package pyright. Two editors show the same folder, one
// with pyright alone and one with Winnow too, and are asked in turns.
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, before, test } from 'node:test'

import { build } from 'esbuild'
import { startEditor, temporary, workspace } from './harness.mjs'
import { install, pack, packaged } from './packages.mjs'
import { HERE } from './paths.mjs'

const { WINNOW_PYRIGHT: pyright } = process.env
/** Files with symbols to look up, the same number in each. */
const FILES = [
  'django/http/request.py', 'django/db/models/query.py', 'django/urls/resolvers.py', 'django/forms/forms.py',
  'django/core/signing.py', 'django/contrib/auth/models.py', 'django/middleware/csrf.py', 'django/utils/text.py',
  'django/template/base.py', 'django/db/migrations/executor.py',
]
const SYMBOLS_PER_FILE = 5
/** Each symbol is looked up this often. Its median isn't that of a moment when the machine was busy. */
const TIMES = 3
/** Maximum time beside pyright, as a multiple of pyright's alone. */
const FACTOR = 1.1

const options = { skip: !pyright && 'WINNOW_PYRIGHT is not set' }
let folder
let alone
let both

before(async () => {
  if (!pyright) return
  const extension = await packPyright()
  folder = workspace(['django'])
  const start = (packages) =>
    startEditor({
      folder,
      settings: { 'winnow.llm.enabled': false },
      env: { PYRIGHT: pyright },
      extensions: install([packaged('probe'), extension, ...packages], temporary('extensions'), temporary('install')),
    })
  ;[alone, both] = await Promise.all([start([]), start([packaged('winnow')])])
  await both.question('where are expired sessions deleted')
  await both.page.keyboard.press('Escape')
  await both.indexed()
  for (const editor of [alone, both]) await editor.openFile(FILES[0])
  // Pyright reads all files of the folder for its first references.
  const [first] = symbols()
  for (const editor of [alone, both]) await ask(editor, 'vscode.executeReferenceProvider', first)
})

after(() => Promise.all([alone?.close(), both?.close()]))

/** Bundle the extension that starts pyright, and package it. */
async function packPyright() {
  const source = path.join(HERE, 'pyright')
  const staged = temporary('pyright')
  for (const name of ['package.json', 'README.md', 'LICENSE']) copyFileSync(path.join(source, name), path.join(staged, name))
  await build({
    entryPoints: [path.join(source, 'main.js')],
    outfile: path.join(staged, 'extension.js'),
    bundle: true,
    platform: 'node',
    external: ['vscode'],
  })
  return pack(staged, 'pyright')
}

/** Return the positions of definitions, spread over each file. */
function symbols() {
  return FILES.flatMap((name) => {
    const file = path.join(folder, name)
    const found = readFileSync(file, 'utf-8').split('\n').flatMap((text, line) => {
      const [, before, symbol] = /^(\s*(?:class|def) )([a-zA-Z]\w*)/.exec(text) ?? []
      return symbol ? [{ symbol, file, line, character: before.length }] : []
    })
    const step = found.length / SYMBOLS_PER_FILE
    return Array.from({ length: SYMBOLS_PER_FILE }, (_, index) => found[Math.floor(index * step)])
  })
}

const ask = (editor, command, { file, line, character }) => editor.probe('places', { command, file, line, character })

/** Return the median, not rounded: some answers take few milliseconds. */
const median = (numbers) => numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)]

/** Compare what both editors find, and return the median time of each symbol: alone, with Winnow. */
async function compare(command) {
  const medians = [[], []]
  for (const [index, place] of symbols().entries()) {
    const times = [[], []]
    for (let time = 0; time < TIMES; time++) {
      const order = (index + time) % 2 ? [1, 0] : [0, 1]
      const answers = []
      for (const which of order) answers[which] = await ask([alone, both][which], command, place)
      assert.deepEqual(answers[1].places.toSorted(), answers[0].places.toSorted(), `${place.symbol} of ${place.file}`)
      answers.forEach(({ milliseconds }, which) => times[which].push(milliseconds))
    }
    times.forEach((of, which) => medians[which].push(median(of)))
  }
  return medians
}

test('references are those of pyright, and as fast', options, async () => {
  const [own, shared] = (await compare('vscode.executeReferenceProvider')).map(median)
  console.log(`References of ${symbols().length} symbols, medians: pyright alone ${own.toFixed(1)} ms, with Winnow ${shared.toFixed(1)} ms`)
  assert.ok(shared <= FACTOR * own, `${shared} ms with Winnow, ${own} ms without`)
})

test('definitions are those of pyright', options, async () => {
  const [own, shared] = (await compare('vscode.executeDefinitionProvider')).map(median)
  console.log(`Definitions, medians: pyright alone ${own.toFixed(1)} ms, with Winnow ${shared.toFixed(1)} ms`)
})

test('no symbol of Python is listed twice', options, async () => {
  for (const query of ['HttpRequest', 'QuerySet', 'csrf', 'signing', 'MigrationExecutor']) {
    const own = await alone.probe('workspaceSymbols', { query })
    const shared = await both.probe('workspaceSymbols', { query })
    const ofPython = shared.filter((name) => name.endsWith('.py'))
    assert.deepEqual(ofPython.toSorted(), own.toSorted(), query)
    console.log(`Symbols for ${query}: pyright alone ${own.length}, with Winnow ${shared.length}`)
  }
})
