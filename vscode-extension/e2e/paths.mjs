// Where things are. RUN is the folder of one run; specs get it from run.mjs.
import * as path from 'node:path'
import { fileURLToPath } from 'node:url'

export const HERE = path.dirname(fileURLToPath(import.meta.url))
export const EXTENSION = path.dirname(HERE)
/** Pictures, also of what has failed. */
export const OUT = path.join(HERE, 'out')
export const RUN = process.env.WINNOW_E2E_RUN
/** Where the extensions are installed, once for all editors. */
export const EXTENSIONS = RUN && path.join(RUN, 'extensions')
/** code-server. */
export const ENTRY = path.join(
  process.env.WINNOW_CODE_SERVER ?? '',
  'node_modules/code-server/out/node/entry.js',
)
