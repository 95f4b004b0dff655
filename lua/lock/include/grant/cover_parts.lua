-- cover_parts(ctx, request): find the parts that the owner already holds strongly enough, and give each its highest
-- fence. A shared hold that is to become exclusive makes the request an upgrade. Returns whether all parts are covered.
local function cover_parts(ctx, request)
  local covered, fences = true, {}
  for _, part in ipairs(request.parts) do
    local held = 'o ' .. request.owner .. ' h ' .. part.resource
    local members = redis.call('ZRANGE', graph, '(' .. held .. '!', '[' .. held .. ' ', 'BYLEX', 'REV', 'LIMIT', 0, 64)
    local code, fence = string.match(members[1] or '', '^.* (%S+) %S+$'), 0 -- the strongest stands last
    if code == 'x' and (part.code == 's' or part.code == 'x') or code == 's' and part.code == 's' then
      for _, member in ipairs(members) do
        local rid = string.match(member, '^.* (%S+)$')
        if not fences[rid] then
          fences[rid] = {}
          for _, own in ipairs(read_request(record_of(ctx, rid)).parts) do
            fences[rid][own.resource] = tonumber(own.fence)
          end
        end
        fence = math.max(fence, fences[rid][part.resource])
      end
      part.fence, part.depends_on = string.format('%.0f', fence), '+'
    else
      covered = false
      if code == 's' and part.code == 'x' then part.depends_on = '+' end
    end
  end
  return covered
end
