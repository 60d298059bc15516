-- Counts a prediction, and tells a game's subscribers how its stakes are distributed: at most once
-- in a window, as all of this is one step to everybody else.
--
-- ARGV: step, game, window in ms, pool, outcome, stake, number of the prediction ('' for none).
-- The steps: 'tell' looks whether the window has passed and tells, 'look' only looks, 'act' only
-- tells. Gives {what, number}: {'missing', pool} where the stakes of a pool are not here and have to
-- be filled in, {'later', ms until the window has passed}, {'free'}, {'nothing'},
-- {'told', 1 where there is more to tell}.
local step, game, window = ARGV[1], ARGV[2], tonumber(ARGV[3])
local pool, outcome, stake, id = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local gate, dirty, seq = 'market:gate:' .. game, 'market:dirty:' .. game, 'market:seq:' .. game

-- One clock for all processes; the gate has when it was last told.
local clock = redis.call('TIME')
local at = clock[1] .. string.format('%06d', clock[2])

if id ~= '' then
  local stakes = 'market:stakes:' .. pool
  local through = redis.call('HGET', stakes, 'through')
  if not through then
    return {'missing', pool}
  end
  -- Those up to `through` were added up by the database.
  if tonumber(id) > tonumber(through) then
    redis.call('HINCRBY', stakes, outcome, stake)
  end
  redis.call('ZADD', dirty, 'NX', at, pool)
end

if step ~= 'act' then
  local left = tonumber(redis.call('GET', gate) or '0') + window * 1000 - tonumber(at)
  if left > 0 then
    return {'later', tostring(math.ceil(left / 1000))}
  elseif step == 'look' then
    return {'free', '0'}
  end
end

-- The pool that has waited longest.
local next = redis.call('ZPOPMIN', dirty)
local told = next[1]
if not told then
  -- Who only looked and then acts tells, whoever else did.
  if step ~= 'act' or pool == '' then
    return {'nothing', '0'}
  end
  told = pool
end
local stakes = 'market:stakes:' .. told
local count = redis.call('HGET', stakes, 'outcomes')
if not count then
  redis.call('ZADD', dirty, 'NX', next[2] or '0', told)
  return {'missing', told}
end
local shares = {}
for n = 1, tonumber(count) do
  shares[n] = redis.call('HGET', stakes, tostring(n - 1)) or '0'
end
if window > 0 then
  redis.call('SET', gate, at, 'PX', window + 1000)
end
local number = redis.call('INCR', seq)
redis.call('PUBLISH', 'market', 'distribution ' .. game .. ' ' .. told .. ' ' .. number .. '\n'
  .. '{"op":"distribution","game":' .. game .. ',"pool":' .. told .. ',"seq":' .. number
  .. ',"at":"' .. at .. '000","skipped":0,"shares":[' .. table.concat(shares, ',') .. ']}')
return {'told', tostring(math.min(1, redis.call('ZCARD', dirty)))}
