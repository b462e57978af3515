/** The server's environment and the folders in which the extension looks for programs. */

import * as path from 'node:path'

/** True if `target` is the folder or is inside it. */
export function isInside(target: string, folder: string): boolean {
  const relative = path.relative(folder, target)
  const [first] = relative.split(path.sep)
  return first !== '..' && !path.isAbsolute(relative)
}

/**
 * Return the folders of a PATH that may be searched for a program.
 *
 * Relative folders are excluded. If the workspace is not trusted, so are folders inside its `folders`.
 */
export function programFolders(searchPath: string, folders: readonly string[], trusted: boolean): string[] {
  const all = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder))
  return trusted ? all : all.filter((entry) => !folders.some((folder) => isInside(entry, folder)))
}

/** Return the editor's environment with an allowed PATH and the user's keys, for the server. */
export function serverEnvironment(
  environment: NodeJS.ProcessEnv,
  folders: readonly string[],
  trusted: boolean,
  keys: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  const name = Object.keys(environment).find((variable) => variable.toUpperCase() === 'PATH') ?? 'PATH'
  const allowed = programFolders(environment[name] ?? '', folders, trusted)
  return { ...environment, ...keys, [name]: allowed.join(path.delimiter) }
}
