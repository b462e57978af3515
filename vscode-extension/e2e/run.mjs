// Packages the extension and the probe, and runs the end-to-end tests: all, or those of the files
// that are named. With --pictures, what they have seen goes into media/.
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import * as path from 'node:path'
import { EXTENSION, OUT } from './harness.mjs'

const vsce = path.join(EXTENSION, 'node_modules/.bin/vsce')
const options = ['--no-dependencies', '--allow-missing-repository']
rmSync(OUT, { recursive: true, force: true })
mkdirSync(path.join(EXTENSION, 'dist'), { recursive: true })

function pack(folder, name) {
  const out = path.join(EXTENSION, `dist/${name}.vsix`)
  const said = execFileSync(vsce, ['package', ...options, '--no-rewrite-relative-links', '--out', out], {
    cwd: folder,
    encoding: 'utf-8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (/WARN/.test(said)) throw new Error(`vsce warns:\n${said}`)
}

pack(EXTENSION, 'winnow')
pack(path.join(EXTENSION, 'e2e/probe'), 'probe')
const named = process.argv.slice(2).filter((one) => !one.startsWith('--'))
const specs = readdirSync(path.join(EXTENSION, 'e2e'))
  .filter((file) => file.endsWith('.spec.mjs') && (!named.length || named.some((one) => file.startsWith(one))))
  .map((file) => path.join(EXTENSION, 'e2e', file))
const arguments_ = ['--test', '--test-concurrency=1', '--test-reporter=spec', ...specs]
const status = spawnSync(process.execPath, arguments_, { stdio: 'inherit' }).status ?? 1
if (status === 0 && process.argv.includes('--pictures')) {
  for (const name of ['local-ranking', 'keyword-search', 'documents', 'results']) {
    copyFileSync(path.join(OUT, `${name}.png`), path.join(EXTENSION, `media/${name}.png`))
  }
}
process.exit(status)
