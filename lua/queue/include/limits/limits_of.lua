-- limits_of(ctx, user, tags, words): the limits that apply to a task: `all`, its user, its tags, its limit keys. tags,
-- words: separated by commas, or ''.
local function limits_of(ctx, user, tags, words)
  local known = user .. ' ' .. tags .. ' ' .. words
  if not ctx.limited[known] then
    local keys, seen = { 'all' }, {}
    for i, list in ipairs({ user, tags, words }) do
      for word in string.gmatch(list, '[^,]+') do
        local key = ({ 'user:', 'tag:', 'key:' })[i] .. word
        if not seen[key] then keys[#keys + 1], seen[key] = key, true end
      end
    end
    ctx.limited[known] = read_limits(ctx, keys)
  end
  return ctx.limited[known]
end
