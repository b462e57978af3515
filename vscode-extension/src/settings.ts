import * as vscode from 'vscode'

import { excludedGlobs, PLAIN_SETTINGS, serverSettings, type Setting } from './core/settings'

/** Return the server's settings that the user set in the editor. */
export function configurationForServer(extension: vscode.Extension<unknown>): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration('winnow')
  const settings = serverSettingNames(extension).map((name) => settingOf(configuration, name))
  const inPlainUnits = PLAIN_SETTINGS.map(({ name, serverName, factor }) => {
    const { value, isSet } = settingOf(configuration, name)
    return { name: serverName, value: factor === 1 ? value : Math.round(Number(value) * factor), isSet }
  })
  return serverSettings([...settings, ...inPlainUnits])
}

/** Return the names of the server's settings in package.json, which are marked there. */
function serverSettingNames(extension: vscode.Extension<unknown>): string[] {
  const { contributes } = extension.packageJSON as {
    contributes: { configuration: { properties: Record<string, { tags?: string[] }> }[] }
  }
  return contributes.configuration
    .flatMap((category) => Object.entries(category.properties))
    .filter(([, { tags = [] }]) => tags.includes('server'))
    .map(([name]) => name.replace(/^winnow\./, ''))
}

function settingOf(configuration: vscode.WorkspaceConfiguration, name: string): Setting {
  const value = configuration.get<unknown>(name)
  const inspected = configuration.inspect<unknown>(name)
  // In restricted mode, VS Code ignores some workspace values; `value` is then the default.
  const isSetByWorkspace =
    inspected?.workspaceValue !== undefined &&
    (vscode.workspace.isTrusted || JSON.stringify(value) !== JSON.stringify(inspected.defaultValue))
  return { name, value, isSet: inspected?.globalValue !== undefined || isSetByWorkspace }
}

/** Return the globs that the editor's own search excludes, from all folders. */
export function editorExcludes(): string[] {
  if (!vscode.workspace.getConfiguration('winnow').get('useExcludeSettings', true)) return []
  const scopes = [undefined, ...(vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri)]
  const globs = scopes.flatMap((scope) => {
    const configuration = vscode.workspace.getConfiguration(undefined, scope ?? null)
    const setting = (name: string) => configuration.get<Record<string, unknown>>(name)
    return excludedGlobs(setting('files.exclude'), setting('search.exclude'))
  })
  return [...new Set(globs)]
}
