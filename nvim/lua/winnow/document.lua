-- Buffers `winnow-doc://…`: the text of a PDF, an office document, and so on, as the server reads
-- it.

local client = require('winnow.client')

local M = {}

-- Reading a large document for the first time takes seconds, and a buffer has to have its text.
local READ_MS = 30000
local STATUSLINE = "%f%( [%{v:lua.require'winnow.document'.place()}]%)%=%l/%L %P"

---The document that a URI is the text of.
---@param uri string
---@return string
function M.file(uri)
  local plain = uri:gsub('[?#].*$', ''):gsub('^winnow%-doc:', 'file:')
  return vim.uri_to_fname(plain)
end

---@type string[]
local filling

---@param buf integer
function M.set_lines(buf)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, filling)
end

---@param buf integer
---@param lines string[]
local function fill(buf, lines)
  vim.bo[buf].modifiable = true
  -- Entries of lists are marks: they would move down with the empty line that is replaced.
  filling = lines
  vim.cmd(("lockmarks lua require('winnow.document').set_lines(%d)"):format(buf))
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

---@param uri string
---@return table? answer
---@return string? problem
local function text_of(buf, uri)
  local found, failed, over = nil, nil, false
  local folder = client.root(buf)
  client.ask(folder, '$/documentText', { path = uri }, function(answer, problem)
    found, failed, over = answer, problem, true
  end)
  local waited = vim.wait(READ_MS, function()
    return over
  end, 5)
  return found, failed or (not waited and 'reading it took too long or was interrupted' or nil)
end

---Fill a buffer with a document's text.
---@param buf integer
---@param uri string
function M.read(buf, uri)
  vim.bo[buf].buftype = 'nofile'
  vim.bo[buf].swapfile = false
  vim.bo[buf].undolevels = -1
  local answer, problem = text_of(buf, uri)
  if not answer then
    fill(buf, { 'No text of this document: ' .. problem })
    vim.notify('winnow: ' .. problem, vim.log.levels.ERROR)
    return
  end
  fill(buf, vim.split((answer.text:gsub('\n$', '')), '\n'))
  vim.b[buf].winnow_document = { file = M.file(uri), parts = answer.line_map }
  vim.bo[buf].filetype = 'winnow-doc'
  if answer.truncated or #(answer.failed or {}) > 0 or #answer.warnings > 0 then
    local said = vim.list_extend(vim.deepcopy(answer.failed or {}), answer.warnings)
    if answer.truncated then
      said[#said + 1] = ('%d of %d lines'):format(answer.returned, answer.total_lines)
    end
    vim.notify('winnow: incomplete text: ' .. table.concat(said, '; '), vim.log.levels.WARN)
  end
  vim.api.nvim_create_autocmd('BufWinEnter', {
    buffer = buf,
    callback = function()
      vim.wo[0][0].statusline = STATUSLINE
    end,
  })
end

---Where a line of a document's buffer stands in it: "page 3"; empty for other buffers.
---@param buf? integer
---@param lnum? integer
---@return string
function M.place(buf, lnum)
  local document = vim.b[buf or 0].winnow_document
  if not document then
    return ''
  end
  lnum = lnum or vim.fn.line('.')
  local here
  for _, part in ipairs(document.parts) do
    if part.line > lnum then
      break
    end
    here = part
  end
  return here and require('winnow.modes').place_in_document(here) or ''
end

---Show the document itself, in the program that the system has for it.
---@param buf? integer
function M.open_original(buf)
  local document = vim.b[buf or 0].winnow_document
  if not document then
    error('winnow: this buffer is not the text of a document', 0)
  end
  vim.ui.open(document.file)
end

return M
