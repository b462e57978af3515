// Package extensions and install them into a folder.
import { execFileSync } from 'node:child_process'
import * as path from 'node:path'
import { ENTRY, EXTENSION } from './paths.mjs'

const vsce = path.join(EXTENSION, 'node_modules/.bin/vsce')
const OPTIONS = ['--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links']

/** Return the file of a packaged extension. */
export const packaged = (name) => path.join(EXTENSION, `dist/${name}.vsix`)

/** Package the extension in a folder. A warning of vsce is an error. */
export function pack(folder, name, env = process.env) {
  const output = execFileSync(vsce, ['package', ...OPTIONS, '--out', packaged(name)], {
    cwd: folder,
    env,
    encoding: 'utf-8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (/WARN/.test(output)) throw new Error(`vsce warns:\n${output}`)
  return packaged(name)
}

/** Install packages into the folder `extensions`. `data` is a folder for the editor's files. */
export function install(packages, extensions, data, env = process.env) {
  const folders = ['--user-data-dir', data, '--extensions-dir', extensions]
  const options = packages.flatMap((file) => ['--install-extension', file])
  execFileSync(process.execPath, [ENTRY, ...folders, ...options], { env, stdio: 'pipe' })
  return extensions
}
