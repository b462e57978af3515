-- Let plugin managers for Neovim install this repository: the plugin is its folder `nvim`.

if vim.g.loaded_winnow then
  return
end

local file = vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2))
local folder = vim.fs.joinpath(vim.fs.dirname(vim.fs.dirname(file)), 'nvim')
vim.opt.runtimepath:append(folder)
dofile(vim.fs.joinpath(folder, 'plugin/winnow.lua'))
