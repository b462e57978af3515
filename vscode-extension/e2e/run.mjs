// Package the extension and the probe, and run the end-to-end tests in parallel: all spec files, or
// those named as arguments. With --pictures, copy their screenshots to media/.
//
// The tests write to one folder, which is deleted at the end. A process left behind is a failure.
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { ENTRY, EXTENSION, HERE, OUT } from './paths.mjs'
import { withEnvironment, kill } from './processes.mjs'

/** Number of spec files to run in parallel. An editor mostly waits for its server and page. */
const CONCURRENCY = 3
/** Maximum time for processes to exit after the tests. */
const EXIT_MS = 60_000

const vsce = path.join(EXTENSION, 'node_modules/.bin/vsce')
const options = ['--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links']

function pack(folder, name, env) {
  const out = path.join(EXTENSION, `dist/${name}.vsix`)
  const output = execFileSync(vsce, ['package', ...options, '--out', out], {
    cwd: folder,
    env,
    encoding: 'utf-8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (/WARN/.test(output)) throw new Error(`vsce warns:\n${output}`)
  return out
}

function install(packages, run, env) {
  const folders = ['--user-data-dir', path.join(run, 'install'), '--extensions-dir', path.join(run, 'extensions')]
  const extensions = packages.flatMap((file) => ['--install-extension', file])
  execFileSync(process.execPath, [ENTRY, ...folders, ...extensions], { env, stdio: 'pipe' })
}

/** Run the specs and return the exit status. */
function test(specs, env) {
  const argv = ['--test', `--test-concurrency=${CONCURRENCY}`, '--test-reporter=spec', ...specs]
  const child = spawn(process.execPath, argv, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal))
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

/** Wait for the processes of a run to exit, kill the rest, and return their command lines. */
async function leftovers(run) {
  const end = Date.now() + EXIT_MS
  let left = withEnvironment(run)
  while (left.length && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    left = withEnvironment(run)
  }
  for (const { pid } of left) kill(pid)
  return left.map(({ command }) => command)
}

rmSync(OUT, { recursive: true, force: true })
mkdirSync(path.join(EXTENSION, 'dist'), { recursive: true })
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const specs = readdirSync(HERE)
  .filter((file) => file.endsWith('.spec.mjs') && (!named.length || named.some((name) => file.startsWith(name))))
  .map((file) => path.join(HERE, file))
const run = mkdtempSync(path.join(tmpdir(), 'winnow-e2e-'))
let status = 1
try {
  const temporary = path.join(run, 'tmp')
  mkdirSync(temporary)
  const env = { ...process.env, WINNOW_E2E_RUN: run, TMPDIR: temporary, HOME: run }
  const packages = [
    pack(EXTENSION, 'winnow', env),
    pack(path.join(EXTENSION, 'e2e/probe'), 'probe', env),
  ]
  install(packages, run, env)
  status = await test(specs, env)
} finally {
  for (const command of await leftovers(run)) {
    console.log(`Left behind: ${command}`)
    status = 1
  }
  rmSync(run, { recursive: true, force: true, maxRetries: 5 })
}
if (status === 0 && process.argv.includes('--pictures')) {
  for (const name of ['search', 'documents', 'results']) {
    copyFileSync(path.join(OUT, `${name}.png`), path.join(EXTENSION, `media/${name}.png`))
  }
}
process.exitCode = status
