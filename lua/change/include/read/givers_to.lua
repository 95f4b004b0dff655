-- givers_to(ctx, person, late): whose delegations lead to a person: those of `late` first, then 64 others, through whom a late one may lead here.
local function givers_to(ctx, person, late)
  local key, list = givers .. person, {}
  local others = redis.call('ZRANGE', key, ctx.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 64)
  if not others[64] then return others end
  local ends = redis.call('ZMSCORE', key, unpack(late))  -- at most 64: late
  for i, giver in ipairs(late) do  -- at most 64: late
    if ends[i] then list[#list + 1] = giver end
  end
  for _, giver in ipairs(others) do list[#list + 1] = giver end  -- at most 64: the limit
  return list
end
