-- limits_of(ctx, user, tags, words): the limits that apply to a task: `all`, its user, its tags, its limit keys. tags,
-- words: separated by commas, or ''. held_as: the keys that a lease holds. rated: some limits have rates.
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
    local limited, held = read_limits(ctx, keys), {}
    for _, limit in ipairs(limited) do
      if limit.most then held[#held + 1] = limit.key end
      limited.rated = limited.rated or limit.interval_ms
    end
    ctx.limited[known], limited.held_as = limited, table.concat(held, ',')
  end
  return ctx.limited[known]
end
