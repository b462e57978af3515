import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { isBelow, programFolders, serverEnvironment } from './core/environment'
import { problemWith, versionIn } from './core/versions'
import { log, messageOf } from './log'

const WINDOWS = process.platform === 'win32'
const PROGRAM = WINDOWS ? 'winnow.exe' : 'winnow'
/** A machine that is busy takes seconds to start Python for the first time. */
const VERSION_MS = 30_000

/** A server that can be started: the program, and the arguments that belong to it. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly version: string
}

/** No server was found; the message says where it was looked for. */
export class ServerMissing extends Error {}

/** Where the private virtual environment is. */
export function privateEnvironment(context: vscode.ExtensionContext): string {
  return vscode.Uri.joinPath(context.globalStorageUri, 'venv').fsPath
}

/** The programs of a Python environment. */
export function programsOf(environment: string): string {
  return path.join(environment, WINDOWS ? 'Scripts' : 'bin')
}

/** The folders of the workspace on this machine. */
export function workspaceFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === 'file')
    .map((folder) => folder.uri.fsPath)
}

/** The environment that programs get: no program of a workspace that is not trusted. */
export function programEnvironment(keys: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return serverEnvironment(process.env, workspaceFolders(), vscode.workspace.isTrusted, keys)
}

/**
 * The server to start: the configured command, `winnow` on PATH, the selected Python environment,
 * or the private environment, the first that is there.
 *
 * Throws ServerMissing, also where the configured command, or what was found, cannot be used.
 */
export async function locate(context: vscode.ExtensionContext): Promise<Program> {
  const configured = vscode.workspace.getConfiguration('winnow').get<string[]>('server.command', [])
  const [command, ...args] = configured
  if (command) return examined(command, args)
  const problems: string[] = []
  for (const candidate of await candidates(context)) {
    if (!(await isExecutable(candidate))) continue
    try {
      return await examined(candidate, [])
    } catch (error) {
      log.info(`${candidate} not used: ${messageOf(error)}`)
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
  folders.push(programsOf(privateEnvironment(context)))
  return [...new Set(folders)].map((folder) => path.join(folder, PROGRAM))
}

/** The interpreter that is selected in the Python extension, if that is here and may be run. */
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
    const own = workspaceFolders().some((folder) => isBelow(selected, folder))
    return own && !vscode.workspace.isTrusted ? undefined : selected
  } catch (error) {
    log.info(`Could not get the selected environment from the Python extension: ${messageOf(error)}`)
    return undefined
  }
}

async function examined(command: string, args: readonly string[]): Promise<Program> {
  const said = await output(command, [...args, '--version'])
  const version = versionIn(said)
  if (!version) throw new ServerMissing(`${command} is not Winnow`)
  const problem = problemWith(version, command)
  if (problem) throw new ServerMissing(problem)
  return { command, args, version }
}

/** What a program prints. Throws ServerMissing if it cannot be run, or fails. */
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
