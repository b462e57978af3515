/** Replace the server's advice for agents, who pass parameters and call tools, by advice for people in the editor. */

/** Names of settings that texts mention: with an underscore, unlike most names of files, or one of these. */
const SETTING =
  /(?<![\w./-])(?:cluster|documents|index|limits|llm|programs|search|workspace)\.(?:[a-z]+_[a-z_]+|exclude|ocr|rga?)\b/g
const INDEX_COMMANDS: Record<string, string> = { build: 'Build or update the index', resume: 'Resume indexing' }
const MENU = 'in the menu of Winnow’s status item'

const REPLACEMENTS: readonly (readonly [RegExp, string | ((...found: string[]) => string)])[] = [
  [/pass enable_indexing to code_search, or call `index` with action 'build'/, `choose “${INDEX_COMMANDS.build}” ${MENU}`],
  [/`index (build|resume)`/g, (_, action = '') => `“${INDEX_COMMANDS[action]}” ${MENU}`],
  [
    /ignored and hidden files are not searched here\b[^.]*/,
    'ignored and hidden files were not searched; >ignored "text searches them, too',
  ],
  // The box can't include submodules.
  [/`grep` with include_submodules searches (?:it|them)/, 'open one as a folder to search it'],
  [/\bpass include_(?!binary)\w+(?: (?:and|or) include_\w+)*/, 'type >ignored before the query'],
  [/(?:: pass include_binary|: pass encoding='latin1')/, ''],
  [/\bpass an absolute path to choose/, 'type >in: and an absolute path to choose'],
  [/\bor pass `literal` \(`-F`\)/, 'or type " before it'],
  [/\bpass `multiline` for matches over line ends/, 'a match is within one line'],
  [/\bmatches `include` or `file_types`/, 'matches >type: or >changed'],
  [/, or broad_terms='shrink' to search with less context/, ''],
  [SETTING, 'winnow.$&'],
]

export function forPeople(text: string): string {
  return REPLACEMENTS.reduce((result, [found, replacement]) => result.replace(found, replacement as string), text)
}
