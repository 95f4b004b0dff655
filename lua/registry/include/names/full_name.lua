-- full_name(name, tag): how a name, or a partition of it, is stored.
local function full_name(name, tag)
  return tag == '' and name or name .. '/' .. tag
end
