-- is_behind(ctx, part, order): whether an earlier waiter for the resource goes first. Shared waiters may pass up to 63
-- shared waiters that also wait for something else.
local function is_behind(ctx, part, order)
  local line, queue, most = line_of(ctx, part.resource), 'r ' .. part.resource .. ' q ', part.code == 's' and 64 or 1
  if part.code == 's' and not line.read or part.code ~= 's' and line.first == nil then
    local members = redis.call('ZRANGE', graph, '[' .. queue, '(' .. queue .. '~', 'BYLEX', 'LIMIT', 0, most)
    line.first, line.read, line.alone, line.last = false, most == 64, false, false
    for i, member in ipairs(members) do
      local place, code = string.match(member, '^r %S+ q (%S+) (%S+) ')
      if i == 1 then line.first = place end
      if i == 64 then line.last = place end
      if code ~= 's' then
        line.alone = place
        break
      end
    end
    if ctx.looks then ctx.looks = ctx.looks - math.ceil(#members / 8) end
  end
  if part.code ~= 's' then return line.first and line.first < order end
  return line.alone and line.alone < order or line.last and line.last < order
end
