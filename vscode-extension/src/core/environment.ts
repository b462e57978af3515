/** The environment of the server, and where programs may be taken from. */

import * as path from 'node:path'

/** Whether a path is a folder or something in it. */
export function isBelow(target: string, folder: string): boolean {
  const relative = path.relative(folder, target)
  const [first] = relative.split(path.sep)
  return first !== '..' && !path.isAbsolute(relative)
}

/**
 * The folders of a PATH in which a program may be looked for.
 *
 * Where the workspace is not trusted, nothing that it provides: neither what is in one of its
 * `folders`, nor what a relative path may lead to.
 */
export function programFolders(searchPath: string, folders: readonly string[], trusted: boolean): string[] {
  const all = searchPath.split(path.delimiter).filter((one) => path.isAbsolute(one))
  return trusted ? all : all.filter((one) => !folders.some((folder) => isBelow(one, folder)))
}

/** The server's environment: the editor's, with a PATH that may be used, and the user's keys. */
export function serverEnvironment(
  environment: NodeJS.ProcessEnv,
  folders: readonly string[],
  trusted: boolean,
  keys: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const name = Object.keys(environment).find((one) => one.toUpperCase() === 'PATH') ?? 'PATH'
  const usable = programFolders(environment[name] ?? '', folders, trusted)
  return { ...environment, ...keys, [name]: usable.join(path.delimiter) }
}
