import { execFile } from 'node:child_process'
import { access, constants, readdir, rm } from 'node:fs/promises'
import * as os from 'node:os'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { isInside, programFolders, serverEnvironment } from './core/environment'
import { isOlder, versionProblem, versionIn } from './core/versions'
import { log, messageOf } from './log'

const WINDOWS = process.platform === 'win32'
export const PROGRAM = WINDOWS ? 'winnow.exe' : 'winnow'
/** A busy machine needs seconds to start Python for the first time. */
const VERSION_MS = 30_000
/** The name of the extension's own virtual environment, in the global state. */
const ENVIRONMENT_KEY = 'winnow.environment'
const ENVIRONMENT_PREFIX = 'venv-'

/** A server program, its first arguments and its version. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly version: string
}

/** No usable server was found. The message gives the reason. */
export class ServerMissing extends Error {}

/** Return the path of the extension's own virtual environment, or undefined if there is none. */
function ownEnvironment(context: vscode.ExtensionContext): string | undefined {
  const name = context.globalState.get<string>(ENVIRONMENT_KEY)
  return name === undefined ? undefined : path.join(context.globalStorageUri.fsPath, name)
}

/** Return an unused path for a virtual environment. It can't be moved later: it contains its path. */
export function newEnvironment(context: vscode.ExtensionContext): string {
  return path.join(context.globalStorageUri.fsPath, `${ENVIRONMENT_PREFIX}${Date.now()}`)
}

/** Make a virtual environment the extension's own. */
export async function useEnvironment(context: vscode.ExtensionContext, folder: string): Promise<void> {
  await context.globalState.update(ENVIRONMENT_KEY, path.basename(folder))
}

/** Delete the virtual environments that later ones have replaced. Other windows may use the last one. */
export async function deleteOldEnvironments(context: vscode.ExtensionContext): Promise<void> {
  const storage = context.globalStorageUri.fsPath
  const current = context.globalState.get<string>(ENVIRONMENT_KEY)
  for (const name of await readdir(storage)) {
    if (!name.startsWith(ENVIRONMENT_PREFIX) || name === current) continue
    // Windows doesn't delete a program that runs. The next installation tries again.
    await rm(path.join(storage, name), { recursive: true, force: true }).catch((error) =>
      log.info(`Could not delete ${name}: ${messageOf(error)}`),
    )
  }
}

/** Return the folder of the server in the extension. Only the extension for a platform has one. */
export function bundledServer(context: vscode.ExtensionContext): string {
  return vscode.Uri.joinPath(context.extensionUri, 'server').fsPath
}

/** Return the folder with the programs of a Python environment. */
export function programsOf(environment: string): string {
  return path.join(environment, WINDOWS ? 'Scripts' : 'bin')
}

/** Return the workspace's folders on this machine. */
export function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === 'file')
    .map((folder) => folder.uri.fsPath)
}

/** Return the environment for programs. Its PATH excludes folders of an untrusted workspace. */
export function programEnvironment(keys: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return serverEnvironment(process.env, workspaceFolders(), vscode.workspace.isTrusted, keys)
}

/**
 * Return the options for starting a program.
 *
 * It starts in the home folder. The editor's own folder may be the workspace, and a program may load
 * modules or settings from its folder: `python -m venv` would run the workspace's `venv.py`.
 */
export function programOptions(keys: Readonly<Record<string, string>> = {}) {
  return { env: programEnvironment(keys), cwd: os.homedir(), windowsHide: true }
}

/**
 * Find the server: the first of the configured command, `winnow` on PATH, in the selected Python
 * environment, and the newer one of the extension's own environment and the extension itself.
 *
 * Throws ServerMissing if none is usable. A configured command has no fallback.
 */
export async function locate(context: vscode.ExtensionContext): Promise<Program> {
  const configured = vscode.workspace.getConfiguration('winnow').get<string[]>('server.command', [])
  const [command, ...args] = configured
  if (command) return checkProgram(command, args)
  const problems: string[] = []
  for (const candidate of await candidates(context)) {
    if (!(await isExecutable(candidate))) continue
    try {
      return await checkProgram(candidate, [])
    } catch (error) {
      log.info(`Not using ${candidate}: ${messageOf(error)}`)
      problems.push(messageOf(error))
    }
  }
  throw new ServerMissing(
    problems[0] ??
      'The program "winnow" is neither on PATH nor in the selected Python environment.',
  )
}

async function candidates(context: vscode.ExtensionContext): Promise<string[]> {
  const trusted = vscode.workspace.isTrusted
  const folders = programFolders(process.env.PATH ?? '', workspaceFolders(), trusted)
  const selected = await selectedPython()
  if (selected) folders.push(path.dirname(selected))
  const programs = [...new Set(folders)].map((folder) => path.join(folder, PROGRAM))
  return [...programs, ...(await ownPrograms(context))]
}

/** Return the server that the user installed and the one in the extension, the newer one first. */
async function ownPrograms(context: vscode.ExtensionContext): Promise<string[]> {
  const bundled = path.join(bundledServer(context), PROGRAM)
  const environment = ownEnvironment(context)
  if (environment === undefined) return [bundled]
  const installed = path.join(programsOf(environment), PROGRAM)
  if (!(await isExecutable(bundled))) return [installed]
  const { version } = context.extension.packageJSON as { version: string }
  const isOutdated = await output(installed, ['--version']).then(
    (text) => isOlder(versionIn(text) ?? '0', version),
    () => true,
  )
  return isOutdated ? [bundled, installed] : [installed, bundled]
}

/** Return the interpreter selected in the Python extension, if it is installed and may be run. */
export async function selectedPython(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension('ms-python.python')
  if (!extension) return undefined
  try {
    const api = (extension.isActive ? extension.exports : await extension.activate()) as {
      environments?: { getActiveEnvironmentPath(resource?: vscode.Uri): { path: string } }
    }
    const selected = api.environments?.getActiveEnvironmentPath(
      vscode.workspace.workspaceFolders?.[0]?.uri,
    ).path
    if (!selected || !path.isAbsolute(selected)) return undefined
    const inWorkspace = workspaceFolders().some((folder) => isInside(selected, folder))
    return inWorkspace && !vscode.workspace.isTrusted ? undefined : selected
  } catch (error) {
    log.info(`Could not get the selected environment from the Python extension: ${messageOf(error)}`)
    return undefined
  }
}

/** Return a program that is a supported version of Winnow. Throws ServerMissing for any other. */
export async function checkProgram(command: string, args: readonly string[]): Promise<Program> {
  const version = versionIn(await output(command, [...args, '--version']))
  if (!version) throw new ServerMissing(`${command} is not Winnow`)
  const problem = versionProblem(version, command)
  if (problem) throw new ServerMissing(problem)
  return { command, args, version }
}

/** Run a program and return its output. Throws ServerMissing if it can't be run or fails. */
export function output(command: string, args: readonly string[]): Promise<string> {
  const options = { ...programOptions(), timeout: VERSION_MS }
  return new Promise((resolve, reject) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      if (!error) resolve(stdout)
      else reject(new ServerMissing(`${command} cannot be run: ${stderr.trim() || error.message}`))
    })
  })
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
