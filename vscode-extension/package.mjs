// Packages the extension with vsce; options are passed on to it.
//
// Set WINNOW_REPOSITORY_URL (such as https://github.com/OWNER/NAME) to package it for the Marketplace:
// the manifest then has `repository` and `bugs`, links of the README lead to the tag of the version,
// and the list of changes has the date of the commit. Nothing in the checkout names the repository.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'

const HERE = import.meta.dirname
const PARTS = ['dist/extension.js', 'media', 'walkthrough', 'server', 'README.md', 'LICENSE', '.vscodeignore']

/** Run a program of Node.js. Throws if it fails. */
function run(script, options, cwd) {
  const { status } = spawnSync(process.execPath, [script, ...options], { cwd, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${path.basename(script)} failed`)
}

/** Run vsce. A relative output file is relative to this folder. */
function vsce(folder, options) {
  const out = options.indexOf('--out') + 1
  const file = path.resolve(HERE, out ? options[out] : 'dist/winnow.vsix')
  const others = out ? options.toSpliced(out - 1, 2) : options
  const script = path.join(HERE, 'node_modules/@vscode/vsce/vsce')
  run(script, ['package', '--no-dependencies', ...others, '--out', file], folder)
}

/** Copy the packaged files to a folder and add what the Marketplace shows. */
function stage(folder, url) {
  for (const part of PARTS.filter((name) => existsSync(path.join(HERE, name)))) {
    cpSync(path.join(HERE, part), path.join(folder, part), { recursive: true })
  }
  const { scripts, devDependencies, ...manifest } = JSON.parse(readFileSync(path.join(HERE, 'package.json'), 'utf-8'))
  const published = {
    ...manifest,
    repository: { type: 'git', url: `${url}.git`, directory: path.basename(HERE) },
    bugs: { url: `${url}/issues` },
    homepage: `${url}#readme`,
  }
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  const seconds = process.env.SOURCE_DATE_EPOCH
  const date = (seconds ? new Date(Number(seconds) * 1000) : new Date()).toISOString().slice(0, 10)
  const changes = readFileSync(path.join(HERE, 'CHANGELOG.md'), 'utf-8')
  writeFileSync(path.join(folder, 'CHANGELOG.md'), changes.replace('(unreleased)', `(${date})`))
  return manifest.version
}

const options = process.argv.slice(2)
const url = process.env.WINNOW_REPOSITORY_URL?.replace(/\/+$/, '')
mkdirSync(path.join(HERE, 'dist'), { recursive: true })
if (!url) {
  vsce(HERE, [...options, '--allow-missing-repository', '--no-rewrite-relative-links'])
} else {
  run(path.join(HERE, 'esbuild.mjs'), [], HERE)
  const folder = mkdtempSync(path.join(tmpdir(), 'winnow-package-'))
  try {
    const version = stage(folder, url)
    const links = ['blob', 'raw'].map((kind) => `${url}/${kind}/v${version}/${path.basename(HERE)}`)
    vsce(folder, [...options, '--baseContentUrl', links[0], '--baseImagesUrl', links[1]])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
