-- Files of repositories in the search cluster, in read-only buffers
-- `winnow://team/project@commit:/src/a.py`.

local document = require('winnow.document')
local message = require('winnow.message')

local M = {}

-- The server's limit for an answer.
local MAX_LINES = 10000

---Return the name of the buffer of a file.
---@param found { path: string, repository: string, commit?: string }
---@return string
function M.name(found)
  return ('winnow://%s@%s:/%s'):format(found.repository, found.commit or '', found.path)
end

---@class winnow.RepositoryFile
---@field path string
---@field repository string
---@field commit string

---Return the params of a request to read the file that a name of a buffer stands for, or nil.
---@param name string
---@return winnow.RepositoryFile?
function M.params(name)
  local repository, commit, path = name:match('^winnow://([^:]+)@([^@:]*):/(.+)$')
  if not (repository and commit and path) then
    return nil
  end
  return { path = path, repository = repository, commit = commit }
end

---Show the file of the workspace instead of a buffer with the same text, except in previews.
---@param buf integer
---@param file string
local function replace(buf, file)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.api.nvim_win_get_config(win).relative == '' and not vim.wo[win].previewwindow then
      local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
      local own = vim.fn.bufadd(file)
      vim.bo[own].buflisted = true
      vim.api.nvim_win_set_buf(win, own)
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

---Request a file, page by page. Return its text, the first answer and notes, or the problem.
---@param buf integer
---@param params winnow.RepositoryFile
---@return { text: string, first: table, notes: string[] }? found
---@return string? problem
local function text_of(buf, params)
  local parts, notes = {}, {}
  local answers = {} ---@type table[]
  local cursor ---@type string?
  repeat
    local page = vim.tbl_extend('force', params, { max_lines = MAX_LINES, cursor = cursor })
    local answer, problem = document.request(buf, '$/readFile', page)
    if not answer then
      return nil, problem
    end
    answers[#answers + 1] = answer
    for _, chunk in ipairs(answer.chunks) do
      parts[#parts + 1] = chunk.content
    end
    vim.list_extend(notes, answer.warnings)
    vim.list_extend(notes, answer.completeness.reasons)
    cursor = answer.cursor
  until not cursor
  local first = answers[1] --[[@as table]]
  return { text = table.concat(parts), first = first, notes = notes }
end

---Fill a buffer with the text of a file. If the workspace has the same file, show that.
---@param buf integer
---@param name string
function M.read(buf, name)
  document.prepare(buf)
  local params = assert(M.params(name), 'the pattern of the autocommand requires all parts')
  local found, problem = text_of(buf, params)
  if not found then
    problem = problem or 'no answer'
    document.fill(buf, { 'Could not read this file: ' .. problem })
    return message.fail(problem)
  end
  document.fill(buf, vim.split((found.text:gsub('\n$', '')), '\n'))
  -- The name of a buffer is no path: `Makefile` would not be one.
  local kind = vim.filetype.match({ filename = params.path, buf = buf })
  vim.bo[buf].filetype = kind or ''
  if not found.first.repository then
    local file = vim.fs.joinpath(found.first.root, found.first.path)
    return vim.schedule(function()
      replace(buf, file)
    end)
  end
  if #found.notes > 0 then
    message.warn(table.concat(found.notes, '; '))
  end
end

---Return true if a buffer's text comes from the server.
---@param file string
---@return boolean
function M.is_virtual(file)
  return M.params(file) ~= nil or vim.startswith(file, 'winnow-doc://')
end

return M
