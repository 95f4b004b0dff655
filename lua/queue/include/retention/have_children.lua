-- have_children(ids): whether some of these tasks have children.
local function have_children(ids)
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = children .. id end
  return count_existing(keys) > 0
end
