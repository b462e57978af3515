import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { isInside, programFolders, serverEnvironment } from './core/environment'
import { isOlder, versionProblem, versionIn } from './core/versions'
import { log, messageOf } from './log'

const WINDOWS = process.platform === 'win32'
const PROGRAM = WINDOWS ? 'winnow.exe' : 'winnow'
/** A busy machine needs seconds to start Python for the first time. */
const VERSION_MS = 30_000

/** A server program, its first arguments and its version. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly version: string
}

/** No usable server was found. The message gives the reason. */
export class ServerMissing extends Error {}

/** Return the path of the extension's own virtual environment. */
export function privateEnvironment(context: vscode.ExtensionContext): string {
  return vscode.Uri.joinPath(context.globalStorageUri, 'venv').fsPath
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
  const installed = path.join(programsOf(privateEnvironment(context)), PROGRAM)
  if (!(await isExecutable(bundled))) return [installed]
  if (!(await isExecutable(installed))) return [bundled]
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

async function checkProgram(command: string, args: readonly string[]): Promise<Program> {
  const version = versionIn(await output(command, [...args, '--version']))
  if (!version) throw new ServerMissing(`${command} is not Winnow`)
  const problem = versionProblem(version, command)
  if (problem) throw new ServerMissing(problem)
  return { command, args, version }
}

/** Run a program and return its output. Throws ServerMissing if it can't be run or fails. */
export function output(command: string, args: readonly string[]): Promise<string> {
  const options = { env: programEnvironment(), timeout: VERSION_MS, windowsHide: true }
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
