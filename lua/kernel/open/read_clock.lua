-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or LAYOUT) > LAYOUT then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. LAYOUT .. ': upgrade this client')
  end
  if ((clock or chosen) == 'test') ~= (now_ms > 0) then
    if chosen and not clock then return nil, redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it') end
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (clock == 'test' and 'sent: this base was created with clock=test'
        or '0: this base was not created with clock=test'))
  end
  if now_ms > 0 then return now_ms, string.format('%.0f', now_ms) end
  local time = redis.call('TIME')
  local text = time[1] .. string.sub('00000' .. time[2], -6, -4)  -- the first three of six digits
  return text + 0, text
end
