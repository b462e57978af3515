-- Messages in one line, so that Neovim never waits for Enter, and pages for longer texts.

local M = {}

-- Neovim 0.12 clears the cells for its ruler when a floating window closes.
local RULER = vim.fn.has('nvim-0.12') == 1 and 18 or 0

---Cut a text to one line below the windows.
---@param text string
---@return string
local function one_line(text)
  local line = vim.trim((text:gsub('%s+', ' ')))
  local room = math.max(20, math.min(vim.v.echospace, vim.o.columns - RULER - 1))
  if vim.api.nvim_strwidth(line) <= room then
    return line
  end
  -- `:Winnow log` has the rest.
  vim.lsp.log.warn('winnow', text)
  return vim.fn.printf('%.' .. (room - 1) .. 'S', line) .. '…'
end

---Return true if Neovim shows the mode in the line of messages.
---@return boolean
local function is_typing()
  local mode = vim.api.nvim_get_mode().mode
  return vim.startswith(mode, 'i') or mode == 't' or vim.bo.buftype == 'prompt'
end

---Show a message, now or when the user leaves the mode that covers it.
---@param text string
---@param level? integer
function M.show(text, level)
  if not is_typing() then
    return vim.notify(one_line('winnow: ' .. text), level)
  end
  local group = vim.api.nvim_create_augroup('winnow-message', { clear = false })
  vim.api.nvim_create_autocmd({ 'InsertLeave', 'TermLeave', 'WinEnter' }, {
    group = group,
    once = true,
    callback = vim.schedule_wrap(function()
      M.show(text, level)
    end),
  })
end

---@param text string
function M.warn(text)
  M.show(text, vim.log.levels.WARN)
end

---@param problem string
function M.fail(problem)
  M.show(problem, vim.log.levels.ERROR)
end

---Show lines of text in a window below the others, which `q` closes.
---@param name string
---@param lines string[]
function M.page(name, lines)
  local buf = vim.fn.bufadd('winnow://' .. name)
  vim.fn.bufload(buf)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, nowait = true })
  local win = vim.fn.bufwinid(buf)
  if win ~= -1 then
    return vim.api.nvim_set_current_win(win)
  end
  win = vim.api.nvim_open_win(buf, true, { split = 'below', win = -1 })
  vim.wo[win].number, vim.wo[win].relativenumber, vim.wo[win].signcolumn = false, false, 'no'
  vim.wo[win].wrap, vim.wo[win].linebreak, vim.wo[win].winfixheight = true, true, true
  local needed = vim.api.nvim_win_text_height(win, {}).all
  vim.api.nvim_win_set_height(win, math.min(needed, math.floor(vim.o.lines / 2)))
end

return M
