// Paths for the tests. RUN is the folder of one run; specs get it from run.mjs.
import * as path from 'node:path'
import { fileURLToPath } from 'node:url'

export const HERE = path.dirname(fileURLToPath(import.meta.url))
export const EXTENSION = path.dirname(HERE)
/** Screenshots, including those of failed tests. */
export const OUT = path.join(HERE, 'out')
export const RUN = process.env.WINNOW_E2E_RUN
/** The folder with the installed extensions, shared by all editors. */
export const EXTENSIONS = RUN && path.join(RUN, 'extensions')
/** The entry point of code-server. */
export const ENTRY = path.join(
  process.env.WINNOW_CODE_SERVER ?? '',
  'node_modules/code-server/out/node/entry.js',
)
