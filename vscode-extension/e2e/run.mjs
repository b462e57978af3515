// Packages the extension and the probe, and runs the end-to-end tests: all, or those of the files
// that are named, side by side. With --pictures, what they have seen goes into media/.
//
// All that they write is in one folder, which is deleted at the end, and no process of theirs may
// be left then.
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { ENTRY, EXTENSION, HERE, OUT } from './paths.mjs'
import { having, kill } from './processes.mjs'

/** An editor waits for its server and its page most of the time. */
const SIDE_BY_SIDE = 3
/** How long a killed process may take to be gone. */
const GONE_MS = 60_000

const vsce = path.join(EXTENSION, 'node_modules/.bin/vsce')
const options = ['--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links']

function pack(folder, name, env) {
  const out = path.join(EXTENSION, `dist/${name}.vsix`)
  const said = execFileSync(vsce, ['package', ...options, '--out', out], {
    cwd: folder,
    env,
    encoding: 'utf-8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (/WARN/.test(said)) throw new Error(`vsce warns:\n${said}`)
  return out
}

function install(packages, run, env) {
  const folders = ['--user-data-dir', path.join(run, 'install'), '--extensions-dir', path.join(run, 'extensions')]
  const each = packages.flatMap((file) => ['--install-extension', file])
  execFileSync(process.execPath, [ENTRY, ...folders, ...each], { env, stdio: 'pipe' })
}

/** Runs the specs; gives their exit status. */
function test(specs, env) {
  const argv = ['--test', `--test-concurrency=${SIDE_BY_SIDE}`, '--test-reporter=spec', ...specs]
  const child = spawn(process.execPath, argv, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal))
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

/** Ends what is still there of a run; gives its command lines. */
async function leftovers(run) {
  const end = Date.now() + GONE_MS
  let left = having(run)
  while (left.length && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    left = having(run)
  }
  for (const { pid } of left) kill(pid)
  return left.map(({ command }) => command)
}

rmSync(OUT, { recursive: true, force: true })
mkdirSync(path.join(EXTENSION, 'dist'), { recursive: true })
const named = process.argv.slice(2).filter((one) => !one.startsWith('--'))
const specs = readdirSync(HERE)
  .filter((file) => file.endsWith('.spec.mjs') && (!named.length || named.some((one) => file.startsWith(one))))
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
  for (const name of ['local-ranking', 'keyword-search', 'documents', 'results']) {
    copyFileSync(path.join(OUT, `${name}.png`), path.join(EXTENSION, `media/${name}.png`))
  }
}
process.exitCode = status
