-- Fill buffers `winnow-doc://…` with the text that the server extracts from a document.

local client = require('winnow.client')
local message = require('winnow.message')

local M = {}

-- The server needs seconds to read a large document, and the buffer must wait for the text.
local READ_MS = 30000
local STATUSLINE = "%f%( [%{v:lua.require'winnow.document'.place()}]%)%=%l/%L %P"

---Return the path of the document whose text a URI names.
---@param uri string
---@return string
function M.file(uri)
  local plain = uri:gsub('[?#].*$', ''):gsub('^winnow%-doc:', 'file:')
  return vim.uri_to_fname(plain)
end

---The argument of `set_lines`, which runs as an Ex command.
---@type string[]
local new_lines

---@param buf integer
function M.set_lines(buf)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, new_lines)
end

---Make a buffer one for a text of the server, which is on no disk.
---@param buf integer
function M.prepare(buf)
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].swapfile = false
  vim.bo[buf].undolevels = -1
end

---Replace the text of a buffer, which cannot be changed.
---@param buf integer
---@param lines string[]
function M.fill(buf, lines)
  vim.bo[buf].modifiable = true
  -- Quickfix entries are marks. Without `:lockmarks`, replacing the empty line would move them
  -- down.
  new_lines = lines
  vim.cmd(("lockmarks lua require('winnow.document').set_lines(%d)"):format(buf))
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

---Send a request and wait for its answer.
---@param buf integer
---@param method string
---@param params table
---@return table? answer
---@return string? problem
function M.request(buf, method, params)
  local result, failed, over = nil, nil, false
  local folder = client.root(buf)
  client.call(folder, method, params, function(answer, problem)
    result, failed, over = answer, problem, true
  end)
  local has_ended = vim.wait(READ_MS, function()
    return over
  end, 5)
  return result, failed or (not has_ended and 'reading it took too long or was interrupted' or nil)
end

---Fill a buffer with a document's text.
---@param buf integer
---@param uri string
function M.read(buf, uri)
  M.prepare(buf)
  local answer, problem = M.request(buf, '$/documentText', { path = uri })
  if not answer then
    M.fill(buf, { 'Could not read this document: ' .. problem })
    return message.fail(problem --[[@as string]])
  end
  M.fill(buf, vim.split((answer.text:gsub('\n$', '')), '\n'))
  vim.b[buf].winnow_document = { file = M.file(uri), parts = answer.line_map }
  vim.bo[buf].filetype = 'winnow-doc'
  if answer.truncated or #(answer.failed or {}) > 0 or #answer.warnings > 0 then
    local notes = vim.list_extend(vim.deepcopy(answer.failed or {}), answer.warnings)
    if answer.truncated then
      notes[#notes + 1] = ('%d of %d lines'):format(answer.returned, answer.total_lines)
    end
    message.warn('incomplete text: ' .. table.concat(notes, '; '))
  end
  vim.api.nvim_create_autocmd('BufWinEnter', {
    buffer = buf,
    callback = function()
      vim.wo[0][0].statusline = STATUSLINE
    end,
  })
end

---Return a line's location in its document, such as "page 3". It is empty for other buffers.
---@param buf? integer
---@param lnum? integer
---@return string
function M.place(buf, lnum)
  local document = vim.b[buf or 0].winnow_document
  if not document then
    return ''
  end
  lnum = lnum or vim.fn.line('.')
  local current
  for _, part in ipairs(document.parts) do
    if part.line > lnum then
      break
    end
    current = part
  end
  return current and require('winnow.modes').place_in_document(current) or ''
end

---Open the original document in the system's default program.
---@param buf? integer
function M.open_original(buf)
  local document = vim.b[buf or 0].winnow_document
  if not document then
    error('winnow: this buffer is not the text of a document', 0)
  end
  vim.ui.open(document.file)
end

return M
