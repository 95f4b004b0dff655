-- move_delegated(ctx, limit): where delegations have begun, ended or changed, move the requests of these persons, and back: at most limit
-- requests, fewer where it has to compare much. A request belongs to them before that: this only keeps the inboxes short. A pass over the
-- requests of a person may take several calls: what begins or ends meanwhile, and whoever puts the person into `delegating` again, causes
-- another pass. Returns whether there is more to do.
local function move_delegated(ctx, limit)
  local left = limit
  for _ = 1, 20 do  -- at most 20: persons of a call
    local head = redis.call('ZRANGE', delegating, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    local person = head[1]
    if not person then return false end
    if left == 0 or looked_enough(ctx) then return true end
    local key = delegations .. person
    local form, began, cursor = string.match(redis.call('HGET', key, '#at') or 'a', '^(%l) ?(%d*) ?(.*)$')
    if began == '' then
      began = ctx.now_text
      redis.call('ZADD', delegating, ctx.now - 1, person)
      list_givers(ctx, person)
    end
    local set = form == 'a' and away .. person or inboxes .. 'user:' .. person
    local start = start_of(set, cursor)
    local page = redis.call('ZRANGE', set, start, start + left - 1, 'REV', 'WITHSCORES')
    local last = recheck_page(ctx, page) or #page == 2 * left and #page - 1
    if last then
      redis.call('HSET', key, '#at', form .. ' ' .. began .. ' ' .. page[last + 1] .. ' ' .. page[last])
    elseif form == 'a' then
      redis.call('HSET', key, '#at', 'i ' .. began)
    else
      redis.call('HDEL', key, '#at')
      if tonumber(head[2]) < tonumber(began) then wait_for_delegations(person, tonumber(began)) end
    end
    left, ctx.late = left - #page / 2, {}
  end
  return true
end
