use std::sync::Arc;
use std::time::Duration;

use super::script::{Replica, Script, Task};
use crate::catalogue;
use crate::demand::asking;
use crate::dice::Dice;

/// How long a quarter of a deployment takes to be exchanged, during which old and new run side by side.
const QUARTER: Duration = Duration::from_secs(40);

/// A service with its replicas, and until when it is being changed.
struct Service {
    task: Task,
    replicas: Vec<Replica>,
    busy_until: Duration,
}

/// Many small services and a few large ones that are deployed anew, scaled, removed and added, more removed than added.
pub fn declining_churn(services: usize, lasts: Duration) -> Script {
    let mut town = Town {
        dice: Dice(37),
        script: Script::new("services that come, change and go", lasts, catalogue::usual_sizes()),
        services: Vec::new(),
        founded: 0,
    };
    for number in 0..services {
        let at = Duration::from_secs(10 * (number as u64 % 60));
        town.found(at);
    }
    let mut at = Duration::from_mins(12);
    while at < lasts {
        town.change(at);
        at += Duration::from_secs(town.dice.pick(&[20, 60, 90, 120, 240, 300]));
    }
    town.script
}

struct Town {
    dice: Dice,
    script: Script,
    services: Vec<Service>,
    founded: usize,
}

impl Town {
    /// Adds a service: one of ten is large.
    fn found(&mut self, at: Duration) {
        let dice = &mut self.dice;
        let large = self.founded % 10 == 9;
        let (milli, count) = if large {
            (dice.pick(&[1_000, 2_000, 4_000]), dice.pick(&[10, 16, 24]))
        } else {
            (dice.pick(&[50, 100, 200, 250, 500, 750]), dice.pick(&[1, 2, 3, 4, 6]))
        };
        let shape = Arc::new(asking(milli, milli * dice.pick(&[1, 2, 4]), 0));
        let task = Task { app: format!("service-{}", self.founded).into(), shape, work: None };
        let replicas = (0..count).map(|_| self.script.start(at, &task)).collect();
        self.services.push(Service { task, replicas, busy_until: at });
        self.founded += 1;
    }

    /// Half of all changes are new versions.
    fn change(&mut self, at: Duration) {
        let free: Vec<usize> =
            (0..self.services.len()).filter(|number| self.services[*number].busy_until <= at).collect();
        if free.is_empty() {
            return;
        }
        let number = self.dice.pick(&free);
        match self.dice.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
            0..5 => self.deploy(number, at),
            5 | 6 => self.scale(number, at),
            7 | 8 => self.remove(number, at),
            _ => self.found(at),
        }
    }

    /// Exchanges all replicas, a quarter at a time.
    fn deploy(&mut self, number: usize, at: Duration) {
        let Some(service) = self.services.get_mut(number) else { return };
        let quarter = service.replicas.len().div_ceil(4).max(1);
        let mut now = at;
        for replicas in service.replicas.chunks_mut(quarter) {
            for replica in replicas {
                let new = self.script.start(now, &service.task);
                self.script.end(now + QUARTER, std::mem::replace(replica, new));
            }
            now += QUARTER;
        }
        service.busy_until = now;
    }

    /// Scales to between half and half as many again.
    fn scale(&mut self, number: usize, at: Duration) {
        let Some(service) = self.services.get_mut(number) else { return };
        let wanted = (service.replicas.len() * self.dice.pick(&[2, 3, 5, 6]) / 4).max(1);
        while service.replicas.len() < wanted {
            service.replicas.push(self.script.start(at, &service.task));
        }
        while service.replicas.len() > wanted {
            let numbers: Vec<usize> = (0..service.replicas.len()).collect();
            let replica = service.replicas.swap_remove(self.dice.pick(&numbers));
            self.script.end(at, replica);
        }
    }

    fn remove(&mut self, number: usize, at: Duration) {
        for replica in self.services.swap_remove(number).replicas {
            self.script.end(at, replica);
        }
    }
}
