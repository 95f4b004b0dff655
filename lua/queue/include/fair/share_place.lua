-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function share_place(ctx, lane, user, band)
  local name = lane .. ' ' .. band .. user
  ctx.shares = ctx.shares or {}
  local own = ctx.shares[name]
  if not own then
    local row = redis.call('ZMSCORE', shares .. lane, band .. ' claimed', band .. user)
    local weight_pct = user ~= '' and redis.call('HGET', weights, user) or 100
    local from = math.max(ctx.settings.fair, row[1] and row[1] % BAND or 0)
    own = { place = math.max(from, row[2] and row[2] % BAND or 0), lasts = math.ceil(100000 / weight_pct) }
    ctx.shares[name] = own
  end
  local place = own.place
  own.place = place + own.lasts
  redis.call('ZADD', shares .. lane, string.format('%.0f', band * BAND + own.place), band .. user)
  if own.place > (ctx.fair_top or ctx.settings.fair_top) then
    ctx.fair_top = own.place + 1000000
    redis.call('HSET', config, 'fair_top', string.format('%.0f', ctx.fair_top))
  end
  return place
end
